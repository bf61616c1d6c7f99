// Listens on port 5000, or on PORT.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const SECRET = process.env.SIGNING_SECRET ?? ''
if (!/^whsec_./.test(SECRET))
  throw new Error("SIGNING_SECRET must be the agent's signing secret: whsec_ followed by base64")

/** The key is the whole secret, and the signature covers the raw bytes of the body. */
function isGenuine(body, signature = '') {
  const expected = `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`
  const [a, b] = [Buffer.from(expected), Buffer.from(signature)]
  return a.length === b.length && timingSafeEqual(a, b)
}

createServer(async (request, response) => {
  if (request.method === 'OPTIONS') return response.writeHead(204).end() // a health check
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  if (!isGenuine(body, String(request.headers['x-service-signature'])))
    return response.writeHead(401).end()
  const { message } = JSON.parse(body)
  response.end(JSON.stringify({ response: `You say: ${message}` }))
}).listen(Number(process.env.PORT ?? 5000), '127.0.0.1')
