import { unwrap } from '@org/agent-messaging-testing'
// A process that opens the storage, claims the due work of an agent, reports it, and holds the
// claims until it is killed.
import { openSqliteStorage } from '@org/agent-messaging-adapter-sqlite'

const [path, agentId, now, until] = process.argv.slice(2)
const storage = openSqliteStorage({ path })
const query = { now: Number(now), until: Number(until) }
const messages = await storage.messages.claimRunnable({ lanes: [{ agentId, free: 100 }], ...query })
const claimed = await storage.deliveries.claimDue({
  limit: 100,
  perWebhook: 100,
  perProject: 100,
  retries: 100,
  rooms: new Map(),
  except: new Set(),
  ...query,
})
process.on('disconnect', () => process.exit())
// No variable refers to the storage any more. Garbage collection must not release its locks.
setInterval(() => globalThis.gc?.(), 10)
process.send({
  alone: storage.alone,
  messages: unwrap(messages).map(({ message }) => message.id),
  deliveries: unwrap(claimed).deliveries.map(({ delivery }) => delivery.id),
})
