import { memoryDedupe, nodeWebhookHandler } from '@org/agent-messaging-client/webhooks'
import express from 'express'

const app = express()
// The signature covers the bytes of the body, so the parser keeps them as rawBody.
// The parser's default limit is 100 kB. An event with a long answer has up to 6 MiB.
app.use(
  express.json({
    limit: '8mb',
    verify: (request, _, bytes) => void Object.assign(request, { rawBody: bytes }),
  }),
)
app.post(
  '/',
  nodeWebhookHandler({
    secret: process.env.WEBHOOK_SECRET,
    dedupe: memoryDedupe(),
    on: { 'webhook.test': ({ data }) => console.log('test of', data.webhookId) },
    onError: (error) => console.error(error.message),
  }),
)
app.listen(Number(process.env.PORT ?? 4000), '127.0.0.1')
