// Sends messages to an agent, and appends a line for each answer that its listener hears.
import { appendFileSync } from 'node:fs'
import { createMessaging } from '@org/agent-messaging-node'

const [database, heardFile, count, fatal] = process.argv.slice(2)
const SENDERS = 20
let heard = 0

const messaging = await createMessaging({
  database,
  masterKey: new Uint8Array(32),
  policy: { runLeaseMs: 2_000 },
  agents: { echo: ({ message }) => message },
  telemetry: { record() {} },
})
async function send(from) {
  for (let n = from; n < Number(count); n += SENDERS)
    await messaging.messages.send({ agent: 'echo', sessionId: `${n}`, message: 'hi', waitMs: 0 })
}
await Promise.all(Array.from({ length: SENDERS }, (_, n) => send(n)))
messaging.on(
  'message.responded',
  ({ id }) => {
    if (++heard === Number(fatal)) process.kill(process.pid, 'SIGKILL')
    appendFileSync(heardFile, `${id}\n`)
  },
  { name: 'mail', from: 'oldest' },
)
