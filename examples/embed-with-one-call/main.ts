import { createMessaging } from '@org/agent-messaging-node'

const messaging = await createMessaging({
  database: ':memory:', // or file:data.db, or postgres://…
  agents: { shouter: ({ message }) => `${message.toUpperCase()}!` },
})

const { message } = await messaging.messages.send({
  agent: 'shouter',
  sessionId: 'conversation-1',
  message: 'hello',
})
if (message.state.kind === 'responded') console.log(message.state.response)

await messaging.stop()
