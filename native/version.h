/* What Python asks of a compiled core before it trusts it (`codecs/compiled_core.py`): an older build left in a checkout must
 * never decide by older rules. Raise it with every change that touches what the core does. */
#define SLUICE_NATIVE_VERSION 37

#include <stdlib.h>
#include <string.h>

/* Whether the environment asks for Python alone; asked here, since the core's Python looks at no environment. */
static inline int sluice_pure(void)
{
    const char *value = getenv("SLUICE_PURE");
    return value != NULL && strcmp(value, "") != 0 && strcmp(value, "0") != 0;
}
