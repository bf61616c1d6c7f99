// An agent of the AI SDK with one tool. The service stores the conversation.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'

const { OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL = 'gpt-5' } = process.env
const provider = createOpenAICompatible({
  name: 'openai',
  baseURL: OPENAI_BASE_URL,
  apiKey: OPENAI_API_KEY,
})

const orderStatus = tool({
  description: 'Returns the day on which an order arrives.',
  inputSchema: z.object({ id: z.string() }),
  execute: ({ id }) => ({ id, arrives: 'Friday' }),
})

export default {
  support: async function* ({ message, history, signal }) {
    const turns = await history({ maxTurns: 20, maxLength: 32_768 })
    const earlier = turns.flatMap((turn) => [
      { role: 'user', content: turn.message },
      { role: 'assistant', content: turn.response },
    ])
    const { fullStream } = streamText({
      model: provider(OPENAI_MODEL),
      system: 'You are the support of a shop.',
      messages: [...earlier, { role: 'user', content: message }],
      tools: { orderStatus },
      stopWhen: stepCountIs(5),
      abortSignal: signal,
      onError: () => undefined, // The loop below throws the error.
    })
    for await (const part of fullStream) {
      if (part.type === 'error') throw part.error
      if (part.type === 'text-delta') yield part.text
    }
  },
}
