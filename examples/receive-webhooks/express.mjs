import { memoryDedupe, nodeWebhookHandler } from '@org/agent-messaging-client/webhooks'
import express from 'express'

const app = express()
// A signature is of bytes: what JSON.parse and JSON.stringify make of them may differ. So the parser keeps them beside what it parsed.
app.use(express.json({ verify: (request, _, bytes) => void Object.assign(request, { rawBody: bytes }) }))
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
