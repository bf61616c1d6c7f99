import { randomUUID } from 'node:crypto'
import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: `${process.env['BASE_URL'] ?? 'http://127.0.0.1:3000'}/openai/v1`,
  apiKey: process.env['KEY'] ?? '',
})
// The client repeats a request after a lost connection. The key prevents a second message.
const once = () => ({ headers: { 'Idempotency-Key': randomUUID() } })
const model = 'echo' // The name of an agent.

const first = await client.responses.create({ model, input: 'Where is my order?' }, once())
console.log(first.status, first.output_text)

const next = { model, input: 'Tell me a story', previous_response_id: first.id }
const stream = client.responses.stream(next, once())
for await (const event of stream)
  if (event.type === 'response.output_text.delta') console.log(event.delta)

const background = { model, input: 'Count the stars', background: true }
let response = await client.responses.create(background, once())
while (response.status === 'queued' || response.status === 'in_progress') {
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  response = await client.responses.retrieve(response.id)
}
console.log(response.status, response.output_text)

const messages = [{ role: 'user' as const, content: 'Hello' }]
const completion = await client.chat.completions.create({ model, messages }, once())
console.log(completion.choices[0]?.message.content)
