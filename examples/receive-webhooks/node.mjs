import { createServer } from 'node:http'
import { memoryDedupe, nodeWebhookHandler } from '@org/agent-messaging-client/webhooks'

const receive = nodeWebhookHandler({
  secret: process.env.WEBHOOK_SECRET,
  dedupe: memoryDedupe(), // For one process. Several processes need a shared store.
  on: {
    'message.responded': ({ data }) => console.log(data.sessionId, data.response),
    'webhook.test': ({ data }) => console.log('test of', data.webhookId),
  },
  onError: (error) => console.error(error.message),
})
createServer(receive).listen(Number(process.env.PORT ?? 4000), '127.0.0.1')
