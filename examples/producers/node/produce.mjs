// A complete producer of emissions in Node.js: a model's answer in, one record on the topic `emissions` out.
//
//   node produce.mjs answers.jsonl      each line: {"emission_id", "emitter", "text", "statements": [...]}
//
// A statement is {"text", "annotations": [{"substrate_class", "locator"}], "checks": [...]}. Where the statement stands
// in the answer is found here: spans count Unicode code points, and JavaScript's strings count UTF-16 units.
// SLUICE_BROKER (kafka://127.0.0.1:9092) and SLUICE_TOPIC_PREFIX ("") are those of the other commands.
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Kafka, Partitioners, logLevel } from 'kafkajs'

// KafkaJS 2.2 sets timers in the past, of which newer versions of Node.js warn on standard error.
process.removeAllListeners('warning').on('warning', (one) => {
  if (one.name !== 'TimeoutNegativeWarning') console.error(`${one.name}: ${one.message}`)
})

const brokers = (process.env.SLUICE_BROKER ?? 'kafka://127.0.0.1:9092').replace(/^kafka:\/\//, '').split(',')
const topic = `${process.env.SLUICE_TOPIC_PREFIX ?? ''}emissions`
const MAX_RECORD = 900_000 // bytes; brokers take about a million by default

/** The record of one answer. Throws an Error with one sentence where the answer cannot be one. */
export function emission(answer) {
  const { emission_id, emitter, text, statements, effect, attempt } = answer ?? {}
  if (!/^[A-Za-z0-9._~:/+=@%-]{1,256}$/.test(emission_id ?? '')) throw new Error('emission_id is no identifier')
  if (typeof text !== 'string' || !Array.isArray(statements)) throw new Error('text or statements are missing')
  let from = 0
  const assertions = statements.map((statement) => {
    const at = text.indexOf(statement.text, from) // one after the other, so that a repeated sentence is found twice
    if (!statement.text || at < 0) throw new Error(`not in the text: ${JSON.stringify(statement.text)}`)
    from = at + statement.text.length
    const start = [...text.slice(0, at)].length
    return {
      span: { chars: [start, start + [...statement.text].length] },
      provenance: statement.annotations ?? [],
      ...(statement.checks ? { checks: statement.checks } : {})
    }
  })
  const record = { emission_id, emitted_at: new Date().toISOString(), emitter, text, assertions, effect, attempt }
  const value = JSON.stringify(record) // leaves out what is undefined
  if (Buffer.byteLength(value) > MAX_RECORD) throw new Error(`larger than ${MAX_RECORD} bytes`)
  return { key: emission_id, value }
}

async function main(file) {
  let input = process.stdin
  try {
    if (file) input = (await open(file)).createReadStream()
  } catch (error) {
    console.error(`not sent: ${error.message}`)
    return 2
  }
  const producer = new Kafka({ clientId: 'node-producer', brokers, logLevel: logLevel.NOTHING }).producer({
    createPartitioner: Partitioners.DefaultPartitioner, // Kafka's own: with another one the record is `misrouted`
    idempotent: true, // a record that is sent again after a failure stands there once
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false // `sluice topics create` makes the topics
  })
  let sent = 0
  let refused = 0
  await producer.connect()
  try {
    const lines = createInterface({ input, crlfDelay: Infinity })
    let number = 0
    for await (const line of lines) {
      number += 1
      if (!line.trim()) continue
      let message
      try {
        message = emission(JSON.parse(line))
      } catch (error) {
        refused += 1
        console.error(`line ${number}: ${error.message}`)
        continue
      }
      await producer.send({ topic, acks: -1, messages: [message] }) // resolves once every replica has it
      sent += 1
    }
  } finally {
    await producer.disconnect()
  }
  console.log(`sent ${sent}, refused ${refused}`)
  return refused === 0 ? 0 : 1
}

main(process.argv[2]).then(
  (status) => {
    process.exitCode = status
  },
  (error) => {
    console.error(`not sent: ${error.message}`)
    process.exitCode = 3
  }
)
