// A graph of LangGraph.js with one tool. The service stores the conversation.
import { AIMessage, HumanMessage, SystemMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'

const { OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL = 'gpt-5' } = process.env

const orderStatus = tool(({ id }) => ({ id, arrives: 'Friday' }), {
  name: 'orderStatus',
  description: 'Returns the day on which an order arrives.',
  schema: z.object({ id: z.string() }),
})
const model = new ChatOpenAI({
  model: OPENAI_MODEL,
  apiKey: OPENAI_API_KEY,
  configuration: { baseURL: OPENAI_BASE_URL },
}).bindTools([orderStatus])
const instructions = new SystemMessage('You are the support of a shop.')

const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async ({ messages }, config) => ({
    messages: [await model.invoke([instructions, ...messages], config)],
  }))
  .addNode('tools', new ToolNode([orderStatus]))
  .addEdge(START, 'model')
  .addConditionalEdges('model', toolsCondition)
  .addEdge('tools', 'model')
  .compile()

export default {
  support: async function* ({ message, history, signal }) {
    const turns = await history({ maxTurns: 20, maxLength: 32_768 })
    const earlier = turns.flatMap((turn) => [
      new HumanMessage(turn.message),
      new AIMessage(turn.response),
    ])
    const messages = [...earlier, new HumanMessage(message)]
    const pieces = await graph.stream({ messages }, { streamMode: 'messages', signal })
    for await (const [piece, { langgraph_node: node }] of pieces)
      if (node === 'model' && piece.text !== '') yield piece.text
  },
}
