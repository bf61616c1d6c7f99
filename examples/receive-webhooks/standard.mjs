// Listens on port 4000, or on PORT.
import express from 'express'
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.env.WEBHOOK_SECRET ?? '') // refuses an empty secret
const seen = new Set() // delivery ids: keep them in storage that outlives the process

const app = express()
// The service sends at most 6 MiB. The parser's default limit is 100 kB.
app.post('/', express.raw({ type: '*/*', limit: '8mb' }), (request, response) => {
  try {
    webhook.verify(request.body, /** @type {any} */ (request.headers))
  } catch {
    return response.sendStatus(401)
  }
  response.sendStatus(204)
  const delivery = request.get('X-Service-Delivery')
  if (seen.has(delivery)) return
  seen.add(delivery)
  console.log(JSON.parse(request.body).event)
})
app.listen(Number(process.env.PORT ?? 4000), '127.0.0.1')
