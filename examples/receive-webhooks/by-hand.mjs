// Listens on port 4000, or on PORT.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const SECRET = process.env.WEBHOOK_SECRET ?? ''
// An empty key would verify forged requests.
if (!/^whsec_[A-Za-z0-9+/]+=*$/.test(SECRET))
  throw new Error("WEBHOOK_SECRET must be the webhook's secret: whsec_ followed by base64")
const MAX_BYTES = 8 * 1024 * 1024 // the service sends at most 6 MiB
const seen = new Set() // delivery ids: keep them in storage that outlives the process

/** The key is the whole secret, and the signature covers the raw bytes of the body. */
function isGenuine(body, signature) {
  const expected = `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`
  const [a, b] = [Buffer.from(expected), Buffer.from(String(signature))]
  return a.length === b.length && timingSafeEqual(a, b)
}

createServer(async (request, response) => {
  const chunks = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length > MAX_BYTES) return response.writeHead(413, { connection: 'close' }).end()
    chunks.push(chunk)
  }
  const body = Buffer.concat(chunks)
  if (!isGenuine(body, request.headers['x-service-signature'])) return response.writeHead(401).end()
  response.writeHead(204).end()
  const delivery = request.headers['x-service-delivery']
  if (seen.has(delivery)) return
  seen.add(delivery)
  console.log(JSON.parse(String(body)).event)
}).listen(Number(process.env.PORT ?? 4000), '127.0.0.1')
