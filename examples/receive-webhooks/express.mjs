import { memoryDedupe, nodeWebhookHandler } from '@org/agent-messaging-client/webhooks'
import express from 'express'

const app = express()
// A signature is of bytes: what JSON.parse and JSON.stringify make of them may differ. So the parser keeps them beside what it parsed.
// Its limit is 100 kB unless told otherwise, and a long answer makes an event of up to 6 MiB.
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
    on: { 'webhook.test': ({ data }) => console.log('a test of', data.webhookId) },
    onError: (error) => console.error(error.message),
  }),
)
app.listen(Number(process.env.PORT ?? 4000), '127.0.0.1')
