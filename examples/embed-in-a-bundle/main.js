import { createMessaging } from '@org/agent-messaging-node'

const messaging = await createMessaging({
  database: process.env.DATABASE ?? 'file:data.db',
  masterKey: process.env.MASTER_KEY, // PostgreSQL needs one
  agents: { shouter: ({ message }) => `${message.toUpperCase()}!` },
})
console.log(await messaging.ask('shouter', 'hello'))
await messaging.stop()
