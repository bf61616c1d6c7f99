// An agent of Mastra with one tool. The service stores the conversation.
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'

const { OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL = 'gpt-5' } = process.env

const orderStatus = createTool({
  id: 'orderStatus',
  description: 'Returns the day on which an order arrives.',
  inputSchema: z.object({ id: z.string() }),
  execute: async ({ id }) => ({ id, arrives: 'Friday' }),
})
const agent = new Agent({
  id: 'support',
  name: 'Support',
  instructions: 'You are the support of a shop.',
  model: { id: `custom/${OPENAI_MODEL}`, url: OPENAI_BASE_URL, apiKey: OPENAI_API_KEY },
  tools: { orderStatus },
})

export default {
  support: async function* ({ message, history, signal }) {
    const turns = await history({ maxTurns: 20, maxLength: 32_768 })
    const earlier = turns.flatMap((turn) => [
      { role: 'user', content: turn.message },
      { role: 'assistant', content: turn.response },
    ])
    const messages = [...earlier, { role: 'user', content: message }]
    const run = await agent.stream(messages, { abortSignal: signal, maxSteps: 5 })
    for await (const { type, payload } of run.fullStream) {
      if (type === 'error') throw payload.error
      if (type === 'text-delta') yield payload.text
    }
  },
}
