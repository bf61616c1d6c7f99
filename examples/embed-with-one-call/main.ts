import { createMessaging } from '@org/agent-messaging-node'

const messaging = await createMessaging({
  database: ':memory:', // or file:data.db, or postgres://…
  agents: { shouter: ({ message }) => `${message.toUpperCase()}!` },
})
const hello = { agent: 'shouter', sessionId: 'chat-1', message: 'hello' }
const { message } = await messaging.messages.send(hello)
if (message.state.kind === 'responded') console.log(message.state.response)
await messaging.stop()
