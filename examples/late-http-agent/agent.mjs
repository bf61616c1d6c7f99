// An agent as a program of its own, in nothing but Node: it keeps a conversation per session, and takes its time.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const { PORT, SIGNING_SECRET, THINKING_MS } = process.env
const conversations = new Map()

createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const expected = `sha256=${createHmac('sha256', SIGNING_SECRET).update(body).digest('hex')}`
  const got = String(request.headers['x-service-signature'])
  if (got.length !== expected.length || !timingSafeEqual(Buffer.from(got), Buffer.from(expected)))
    return response.writeHead(401).end()

  response.writeHead(202).end() // "later": no connection is held while the agent thinks
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

/** The run's token opens this one callback and nothing else; no API key is needed. */
async function answer({ url, token }, response) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  await fetch(url, { method: 'POST', headers, body: JSON.stringify({ response }) })
}
