// An OpenAI-compatible chat endpoint without dependencies. Streams its answers and stores nothing.
import { createServer } from 'node:http'

const server = createServer(async (request, response) => {
  if (request.method !== 'POST') return response.end('{"object":"list","data":[{"id":"parrot"}]}')
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const { messages } = JSON.parse(Buffer.concat(chunks))

  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const word of reply(messages).split(/(?<= )/)) response.write(event({ content: word }, null))
  response.end(`${event({}, 'stop')}data: [DONE]\n\n`)
})

const event = (delta, finish_reason) =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`

function reply([{ content: system }, ...messages]) {
  const said = messages.filter(({ role }) => role === 'user').map(({ content }) => content)
  const before = said.length > 1 ? ` Before, you said: ${said.slice(0, -1).join('; ')}.` : ''
  return `${system} You say "${said.at(-1)}".${before}`
}

server.listen(0, '127.0.0.1', () => process.send(server.address().port))
