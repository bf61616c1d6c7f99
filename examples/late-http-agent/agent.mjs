// An HTTP agent without dependencies. Keeps one conversation per session and answers late.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const { PORT, SIGNING_SECRET, THINKING_MS } = process.env
if (!/^whsec_./.test(SIGNING_SECRET ?? ''))
  throw new Error("SIGNING_SECRET must be the agent's signing secret: whsec_ followed by base64")
const conversations = new Map()

createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const expected = `sha256=${createHmac('sha256', SIGNING_SECRET).update(body).digest('hex')}`
  const got = String(request.headers['x-service-signature'])
  if (got.length !== expected.length || !timingSafeEqual(Buffer.from(got), Buffer.from(expected)))
    return response.writeHead(401).end()

  response.writeHead(202).end() // accepted: the agent answers later, through the callback
  const { sessionId, message, executionPrincipal, callback } = JSON.parse(body)
  setTimeout(
    () => answer(callback, reply(sessionId, message, executionPrincipal)),
    Number(THINKING_MS),
  )
}).listen(Number(PORT), '127.0.0.1', () => process.send?.('ready'))

function reply(sessionId, message, principal) {
  const conversation = conversations.get(sessionId) ?? []
  conversations.set(sessionId, [...conversation, message])
  const before =
    conversation.length === 0
      ? 'This is the first thing you tell me'
      : `Before, you told me: ${conversation.join('; ')}`
  return `${principal.endUserId}, you say "${message}". ${before}.`
}

/** The token is valid for this callback only. No API key is needed. */
async function answer({ url, token }, response) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  await fetch(url, { method: 'POST', headers, body: JSON.stringify({ response }) })
}
