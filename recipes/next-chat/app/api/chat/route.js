// Sends the message of the page to the agent `support`, and streams the answer as text.
import { createClient } from '@org/agent-messaging-client'

export const dynamic = 'force-dynamic'

export async function POST(request) {
  const { sessionId, message } = await request.json()
  // In your app, check here that the signed-in person can use this session.
  const { messages } = createClient({
    baseUrl: process.env.MESSAGING_URL,
    apiKey: process.env.MESSAGING_KEY,
  })
  const sent = await messages.send('support', { sessionId, message }, { waitSeconds: 0 })
  const events = messages.stream('support', sent.messageId, { signal: request.signal })
  return new Response(ReadableStream.from(textOf(events)).pipeThrough(new TextEncoderStream()), {
    headers: { 'content-type': 'text/plain; charset=utf-8' },
  })
}

async function* textOf(events) {
  for await (const event of events) {
    if (event.event === 'chunk') yield event.text
    if (event.event === 'message' && event.message.state !== 'responded')
      throw new Error(`the message is ${event.message.state}`)
  }
}
