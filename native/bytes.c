/* The part of bytes.h that is no one-liner. */
#include "bytes.h"

int pass_values(Reader *self, uint64_t count)
{
    uint64_t size;
    uint8_t tag;
    for (uint64_t left = count; left; left--) {
        if (!take_tag(self, &tag))
            return 0;
        if (tag < 0x80 || tag >= 0xe0 || tag == 0xc0 || tag == 0xc2 || tag == 0xc3)
            continue; /* itself all there is */
        uint64_t bytes = 0, values = 0;
        if (tag < 0x90)
            values = 2 * (uint64_t)(tag & 15);
        else if (tag < 0xa0)
            values = tag & 15;
        else if (tag < 0xc0)
            bytes = tag & 31;
        else if (tag >= 0xcc && tag <= 0xd3)
            bytes = (uint64_t)1 << ((tag - 0xcc) & 3);
        else if (tag == 0xca || tag == 0xcb)
            bytes = tag == 0xca ? 4 : 8;
        else if ((tag >= 0xc4 && tag <= 0xc6) || (tag >= 0xd9 && tag <= 0xdb)) {
            if (!take_big(self, 1 << (tag < 0xd9 ? tag - 0xc4 : tag - 0xd9), &bytes))
                return 0;
        } else if (tag >= 0xdc) {
            if (!take_big(self, tag & 1 ? 4 : 2, &size))
                return 0;
            values = tag >= 0xde ? 2 * size : size;
        } else
            return 0; /* extensions, which nothing of ours writes */
        uint64_t there = (uint64_t)(self->end - self->at);
        if (bytes > there || values > there)
            return 0; /* a value has a byte at least: what is left stays a number of what is there */
        self->at += bytes;
        left += values;
    }
    return 1;
}
