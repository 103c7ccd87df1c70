import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.Predicate;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowStore;

/**
 * The windowed k-distinct join on Kafka Streams, exactly once: a statement of an emission goes on once observations of
 * two distinct classes within an hour of the emission have come for it, in either order.
 *
 * <p>The Processor API and not the DSL's stream-stream join: that one emits a row for every pair, so that counting
 * distinct classes would need a second store, a second changelog and a repartition. One window store keyed by statement
 * does it with one look-up and one write for each statement that a record is about. Windows are an hour wide and aligned, and a look-up reads at most
 * the present one and the one before, by key and time, never a range; old segments are dropped whole. Caching is on, so
 * that of several writes to a key within a commit interval one reaches the changelog.
 *
 * <p>Arguments: bootstrap servers, topic prefix, file to write the time of the first record into, threads, store
 * ({@code rocksdb} or {@code memory}), folder for state.
 */
public final class Join {
    static final int NEEDED = 2;
    static final long WINDOW = Duration.ofHours(1).toMillis();
    static final ObjectMapper MAPPER = new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
    static final ObjectReader EMISSIONS = MAPPER.readerFor(Emission.class);
    static final ObjectReader OBSERVATIONS = MAPPER.readerFor(Observation.class);
    static final JsonFactory JSON = MAPPER.getFactory();

    private static Path begun;
    private static volatile boolean running;

    public record Span(int[] chars) {}

    public record Assertion(Span span) {}

    public record Emission(String text, List<Assertion> assertions) {}

    public record Subject(Span span) {}

    public record Observation(Subject subject, String substrate_class, String outcome) {}

    /** What is known of one statement: its text once it has come (null before), and each class's newest time. */
    static final class State {
        boolean admitted;
        long emitted;
        String text;
        final TreeMap<String, Long> classes = new TreeMap<>();

        boolean ready() {
            if (admitted || text == null || classes.size() < NEEDED) {
                return false;
            }
            int fresh = 0;
            for (long at : classes.values()) {
                fresh += Math.abs(at - emitted) <= WINDOW ? 1 : 0;
            }
            return fresh >= NEEDED;
        }
    }

    /** Fixed fields, then texts with their lengths: a third of the size of JSON, and a tenth of its cost. */
    static final class StateSerde implements Serde<State> {
        @Override
        public org.apache.kafka.common.serialization.Serializer<State> serializer() {
            return (topic, state) -> {
                if (state == null) {
                    return null;
                }
                byte[] text = state.text == null ? null : state.text.getBytes(StandardCharsets.UTF_8);
                byte[][] names = new byte[state.classes.size()][];
                int size = 1 + 8 + 4 + (text == null ? 0 : text.length) + 1, index = 0;
                for (String name : state.classes.keySet()) {
                    names[index] = name.getBytes(StandardCharsets.UTF_8);
                    size += 8 + 2 + names[index++].length;
                }
                ByteBuffer buffer = ByteBuffer.allocate(size);
                buffer.put((byte) (state.admitted ? 1 : 0)).putLong(state.emitted);
                buffer.putInt(text == null ? -1 : text.length);
                if (text != null) {
                    buffer.put(text);
                }
                buffer.put((byte) names.length);
                index = 0;
                for (long at : state.classes.values()) {
                    buffer.putLong(at).putShort((short) names[index].length).put(names[index++]);
                }
                return buffer.array();
            };
        }

        @Override
        public org.apache.kafka.common.serialization.Deserializer<State> deserializer() {
            return (topic, bytes) -> {
                if (bytes == null) {
                    return null;
                }
                ByteBuffer buffer = ByteBuffer.wrap(bytes);
                State state = new State();
                state.admitted = buffer.get() == 1;
                state.emitted = buffer.getLong();
                int length = buffer.getInt();
                if (length >= 0) {
                    state.text = text(buffer, length);
                }
                for (int left = buffer.get(); left > 0; left--) {
                    long at = buffer.getLong();
                    state.classes.put(text(buffer, buffer.getShort()), at);
                }
                return state;
            };
        }

        private static String text(ByteBuffer buffer, int length) {
            String text = new String(buffer.array(), buffer.position(), length, StandardCharsets.UTF_8);
            buffer.position(buffer.position() + length);
            return text;
        }
    }

    /** Takes one input's records into the store; the two inputs differ in what a record adds. */
    abstract static class Side implements Processor<String, byte[], String, byte[]> {
        private ProcessorContext<String, byte[]> context;
        private WindowStore<String, State> store;

        abstract void read(Record<String, byte[]> record) throws IOException;

        @Override
        public void init(ProcessorContext<String, byte[]> context) {
            this.context = context;
            store = context.getStateStore("seen");
        }

        @Override
        public void process(Record<String, byte[]> record) {
            if (!running) {
                tellBegun();
            }
            try {
                read(record);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }

        /** Takes what a record says of one statement into the store; it goes on where it is ready. */
        void advance(Record<String, byte[]> record, int[] span, Predicate<State> add) throws IOException {
            String key = record.key() + '/' + span[0] + '-' + span[1];
            long at = record.timestamp(), window = at - at % WINDOW;
            State state = store.fetch(key, window);
            if (state == null) {
                window -= WINDOW;
                state = store.fetch(key, window);
            }
            if (state == null) {
                window += WINDOW;
                state = new State();
            }
            if (!add.test(state)) {
                return;
            }
            if (state.ready()) {
                state.admitted = true;
                context.forward(new Record<>(record.key(), admitted(record.key(), span, state), at));
            }
            store.put(key, state, window);
        }

        private static byte[] admitted(String key, int[] span, State state) throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
            try (JsonGenerator json = JSON.createGenerator(bytes)) {
                json.writeStartObject();
                json.writeStringField("emission_id", key);
                json.writeObjectFieldStart("span");
                json.writeFieldName("chars");
                json.writeArray(span, 0, 2);
                json.writeEndObject();
                json.writeArrayFieldStart("classes");
                for (String name : state.classes.keySet()) {
                    json.writeString(name);
                }
                json.writeEndArray();
                json.writeStringField("text", state.text);
                json.writeEndObject();
            }
            return bytes.toByteArray();
        }
    }

    static final class Emissions extends Side {
        @Override
        void read(Record<String, byte[]> record) throws IOException {
            Emission emission = EMISSIONS.readValue(record.value());
            for (Assertion assertion : emission.assertions()) {
                int[] span = assertion.span().chars();
                advance(record, span, state -> {
                    if (state.text != null) {
                        return false;
                    }
                    state.text = emission.text().substring(span[0], span[1]);
                    state.emitted = record.timestamp();
                    return true;
                });
            }
        }
    }

    static final class Observations extends Side {
        @Override
        void read(Record<String, byte[]> record) throws IOException {
            Observation observation = OBSERVATIONS.readValue(record.value());
            if (!"corroborates".equals(observation.outcome())) {
                return;
            }
            advance(record, observation.subject().span().chars(), state -> {
                state.classes.merge(observation.substrate_class(), record.timestamp(), Math::max);
                return true;
            });
        }
    }

    private static synchronized void tellBegun() {
        if (!running) {
            running = true;
            try {
                Files.writeString(begun, Double.toString(System.currentTimeMillis() / 1e3));
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }
    }

    static Topology topology(String prefix, boolean memory) {
        Duration retention = Duration.ofMillis(2 * WINDOW), size = Duration.ofMillis(WINDOW);
        WindowBytesStoreSupplier supplier =
                memory
                        ? Stores.inMemoryWindowStore("seen", retention, size, false)
                        : Stores.persistentWindowStore("seen", retention, size, false);
        StringDeserializer keys = new StringDeserializer();
        ByteArrayDeserializer values = new ByteArrayDeserializer();
        Topology topology = new Topology();
        topology.addSource("emissions", keys, values, prefix + "emissions");
        topology.addSource("observations", keys, values, prefix + "observations");
        topology.addProcessor("emission", Emissions::new, "emissions");
        topology.addProcessor("observation", Observations::new, "observations");
        topology.addStateStore(
                Stores.windowStoreBuilder(supplier, Serdes.String(), new StateSerde())
                        .withCachingEnabled()
                        .withLoggingEnabled(Map.of()),
                "emission",
                "observation");
        topology.addSink(
                "admitted",
                prefix + "admitted",
                new StringSerializer(),
                new ByteArraySerializer(),
                "emission",
                "observation");
        return topology;
    }

    static Properties settings(String servers, String prefix, int threads, String folder) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, prefix + "peer");
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, folder);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, threads);
        settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 1);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 128 * 1024 * 1024L);
        // More at once than by default (1000 each): as many as our own lanes take.
        settings.put(StreamsConfig.BUFFERED_RECORDS_PER_PARTITION_CONFIG, 4000);
        settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), 4000);
        settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 256 * 1024);
        return settings;
    }

    public static void main(String[] arguments) throws InterruptedException {
        begun = Path.of(arguments[2]);
        KafkaStreams streams =
                new KafkaStreams(
                        topology(arguments[1], arguments[4].equals("memory")),
                        settings(arguments[0], arguments[1], Integer.parseInt(arguments[3]), arguments[5]));
        CountDownLatch ended = new CountDownLatch(1);
        streams.setUncaughtExceptionHandler(
                error -> {
                    error.printStackTrace();
                    ended.countDown();
                    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
                });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(10))));
        streams.start();
        ended.await();
        System.exit(1);
    }
}
