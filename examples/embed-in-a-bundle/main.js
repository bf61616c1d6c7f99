import { createMessaging } from '@org/agent-messaging-node'

const messaging = await createMessaging({
  database: process.env.DATABASE ?? 'file:data.db',
  masterKey: process.env.MASTER_KEY, // PostgreSQL needs one
  agents: { shouter: ({ message }) => `${message.toUpperCase()}!` },
})
const hello = { agent: 'shouter', sessionId: 'chat-1', message: 'hello' }
const { message } = await messaging.messages.send(hello)
if (message.state.kind === 'responded') console.log(message.state.response)
await messaging.stop()
