// A complete producer of emissions in Go: a model's answer in, one record on the topic `emissions` out.
//
//	go run . answers.jsonl      each line: {"emission_id", "emitter", "text", "statements": [...]}
//
// A statement is {"text", "annotations": [{"substrate_class", "locator"}], "checks": [...]}. Where the statement stands
// in the answer is found here: spans count Unicode code points, and Go's strings count bytes. SLUICE_BROKER
// (kafka://127.0.0.1:9092) and SLUICE_TOPIC_PREFIX ("") are those of the other commands.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

const maxRecord = 900_000 // bytes; brokers take about a million by default

var identifier = regexp.MustCompile(`^[A-Za-z0-9._~:/+=@%-]{1,256}$`)

type annotation struct {
	Class         string         `json:"substrate_class"`
	ObservationID string         `json:"observation_id,omitempty"`
	TS            string         `json:"ts,omitempty"`
	Locator       map[string]any `json:"locator,omitempty"`
}

// answer is a line of the input.
type answer struct {
	EmissionID string            `json:"emission_id"`
	Emitter    map[string]string `json:"emitter,omitempty"`
	Text       string            `json:"text"`
	Effect     string            `json:"effect,omitempty"`
	Attempt    int               `json:"attempt,omitempty"`
	Statements []struct {
		Text        string       `json:"text"`
		Annotations []annotation `json:"annotations"`
		Checks      []string     `json:"checks"`
	} `json:"statements"`
}

type span struct {
	Chars [2]int `json:"chars"`
}

type assertion struct {
	Span       span         `json:"span"`
	Provenance []annotation `json:"provenance"`
	Checks     []string     `json:"checks,omitempty"`
}

// emission is the record; its JSON is what `sluice schema emission` describes.
type emission struct {
	EmissionID string            `json:"emission_id"`
	EmittedAt  string            `json:"emitted_at"`
	Emitter    map[string]string `json:"emitter,omitempty"`
	Effect     string            `json:"effect,omitempty"`
	Attempt    int               `json:"attempt,omitempty"`
	Text       string            `json:"text"`
	Assertions []assertion       `json:"assertions"`
}

// record makes the record of an answer; its error is one sentence.
func record(topic string, line []byte) (*kgo.Record, error) {
	var from answer
	if err := json.Unmarshal(line, &from); err != nil {
		return nil, err
	}
	if !identifier.MatchString(from.EmissionID) {
		return nil, errors.New("emission_id is no identifier")
	}
	if !utf8.Valid(line) || from.Text == "" {
		return nil, errors.New("the text is missing, or is not UTF-8")
	}
	to := emission{
		EmissionID: from.EmissionID, EmittedAt: time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		Emitter: from.Emitter, Effect: from.Effect, Attempt: from.Attempt, Text: from.Text, Assertions: []assertion{},
	}
	after := 0
	for _, one := range from.Statements {
		at := strings.Index(from.Text[after:], one.Text) // one after the other, so that a repeated sentence is found twice
		if one.Text == "" || at < 0 {
			return nil, fmt.Errorf("not in the text: %q", one.Text)
		}
		at += after
		after = at + len(one.Text)
		start := utf8.RuneCountInString(from.Text[:at])
		chars := [2]int{start, start + utf8.RuneCountInString(one.Text)}
		provenance := append([]annotation{}, one.Annotations...)
		to.Assertions = append(to.Assertions, assertion{span{chars}, provenance, one.Checks})
	}
	value, err := json.Marshal(to)
	if err != nil {
		return nil, err
	}
	if len(value) > maxRecord {
		return nil, fmt.Errorf("larger than %d bytes", maxRecord)
	}
	return &kgo.Record{Topic: topic, Key: []byte(from.EmissionID), Value: value}, nil
}

func setting(name, without string) string {
	if value, is := os.LookupEnv(name); is {
		return value
	}
	return without
}

// run sends what it reads; it returns how many records were sent and how many lines were refused.
func run(input io.Reader) (sent, refused int, err error) {
	brokers := strings.Split(strings.TrimPrefix(setting("SLUICE_BROKER", "kafka://127.0.0.1:9092"), "kafka://"), ",")
	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), // Kafka's own: with another one the record is `misrouted`
		kgo.RequiredAcks(kgo.AllISRAcks()),                   // with idempotence, which is this client's default
		kgo.RecordDeliveryTimeout(30*time.Second),
	)
	if err != nil {
		return 0, 0, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := client.Ping(ctx); err != nil {
		return 0, 0, err
	}
	lines := bufio.NewReader(input)
	for number := 1; ; number++ {
		line, ended := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			made, err := record(setting("SLUICE_TOPIC_PREFIX", "")+"emissions", line)
			if err != nil {
				refused++
				fmt.Fprintf(os.Stderr, "line %d: %v\n", number, err)
			} else if err := client.ProduceSync(context.Background(), made).FirstErr(); err != nil {
				return sent, refused, err // every replica has it, or this says why not
			} else {
				sent++
			}
		}
		if ended == io.EOF {
			return sent, refused, nil
		}
		if ended != nil {
			return sent, refused, ended
		}
	}
}

func main() {
	input := io.Reader(os.Stdin)
	if len(os.Args) > 1 {
		file, err := os.Open(os.Args[1])
		if err != nil {
			fmt.Fprintf(os.Stderr, "not sent: %v\n", err)
			os.Exit(2)
		}
		defer file.Close()
		input = file
	}
	sent, refused, err := run(input)
	if err != nil {
		fmt.Fprintf(os.Stderr, "not sent: %v\n", err)
		os.Exit(3)
	}
	fmt.Printf("sent %d, refused %d\n", sent, refused)
	if refused > 0 {
		os.Exit(1)
	}
}
