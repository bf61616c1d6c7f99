import { createMessaging } from '@org/agent-messaging-node'

const messaging = await createMessaging({
  database: ':memory:', // or file:data.db, or postgres://…
  agents: { shouter: ({ message }) => `${message.toUpperCase()}!` },
})
console.log(await messaging.ask('shouter', 'hello'))
await messaging.stop()
