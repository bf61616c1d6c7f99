// A process of its own: opens the storage, claims what is due of the agent, tells what it got, and holds it until it is killed.
import { openSqliteStorage } from '@org/agent-messaging-sqlite'

const [path, agentId, now, until] = process.argv.slice(2)
const storage = openSqliteStorage({ path })
const query = { now: Number(now), until: Number(until) }
const messages = await storage.messages.claimRunnable({ lanes: [{ agentId, free: 100 }], ...query })
const deliveries = await storage.deliveries.claimDue({
  limit: 100,
  perWebhook: 100,
  perProject: 100,
  retries: 100,
  except: new Set(),
  ...query,
})
process.on('disconnect', () => process.exit())
process.send({
  alone: storage.alone,
  messages: messages.unwrapOr([]).map(({ message }) => message.id),
  deliveries: deliveries.unwrapOr([]).map(({ delivery }) => delivery.id),
})
