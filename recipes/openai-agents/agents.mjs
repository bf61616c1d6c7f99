// An agent of the OpenAI Agents SDK with one tool. The service stores the conversation.
import { Agent, assistant, OpenAIProvider, Runner, tool, user } from '@openai/agents'
import { z } from 'zod'

const { OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL = 'gpt-5' } = process.env

const orderStatus = tool({
  name: 'orderStatus',
  description: 'Returns the day on which an order arrives.',
  parameters: z.object({ id: z.string() }),
  execute: ({ id }) => ({ id, arrives: 'Friday' }),
})
const agent = new Agent({
  name: 'Support',
  instructions: 'You are the support of a shop.',
  model: OPENAI_MODEL,
  tools: [orderStatus],
})
const runner = new Runner({
  modelProvider: new OpenAIProvider({ baseURL: OPENAI_BASE_URL, apiKey: OPENAI_API_KEY }),
  tracingDisabled: true, // Otherwise the SDK reports each run to OpenAI.
})

export default {
  support: async function* ({ message, history, signal }) {
    const turns = await history({ maxTurns: 20, maxLength: 32_768 })
    const earlier = turns.flatMap((turn) => [user(turn.message), assistant(turn.response)])
    const run = await runner.run(agent, [...earlier, user(message)], { stream: true, signal })
    yield* run.toTextStream()
    await run.completed
  },
}
