// A model server without a model, on 127.0.0.1. Speaks two protocols of OpenAI, chat completions
// and responses, with streaming and tool calls. A plan decides what the model says.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

/** The time between two words of a streamed answer. */
const WORD_MS = 20
const USAGE = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }

/**
 * A plan gets the texts of the user, the result of the last tool if it is new, and the names of the
 * tools. The plan returns `{ text }`, `{ tool, input }`, or `{ status }` for an error.
 *
 * This plan looks up an order with the first tool, and knows what the user asked before.
 */
export function supportPlan({ said, toolResult, tools }) {
  const question = said.at(-1) ?? ''
  if (question.includes('error')) return { status: 400 }
  if (toolResult !== undefined) return { text: `It arrives on ${JSON.parse(toolResult).arrives}.` }
  const [, id] = /order (\d+)/.exec(question) ?? []
  if (id !== undefined && tools.length > 0) return { tool: tools[0], input: { id } }
  const before = said.slice(0, -1).join(' ')
  return { text: before === '' ? `You say: ${question}` : `Before, you asked: ${before}` }
}

/** Returns the URL of the server, the paths that were requested, and a function that closes it. */
export async function startModel({ plan = supportPlan, port = 0 } = {}) {
  const requests = []
  const server = createServer((request, response) => {
    requests.push(request.url)
    respond(request, response, plan).catch((error) => response.destroy(error))
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    requests,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function respond(request, response, plan) {
  const protocol = PROTOCOLS.find(({ path }) => request.url.endsWith(path))
  if (request.method !== 'POST' || !protocol)
    return sendJson(response, 200, { object: 'list', data: [{ id: 'plan', object: 'model' }] })
  const body = await json(request)
  const step = plan({ ...protocol.read(body), tools: (body.tools ?? []).map(nameOf) })
  if (step.status) {
    const error = { message: 'The plan says so.', type: 'invalid_request_error', code: null }
    return sendJson(response, step.status, { error })
  }
  const answer = { ...step, id: crypto.randomUUID(), model: body.model }
  if (!body.stream) return sendJson(response, 200, protocol.whole(answer))
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of protocol.events(answer)) {
    if (event.type) response.write(`event: ${event.type}\n`)
    response.write(`data: ${JSON.stringify(event)}\n\n`)
    await sleep(WORD_MS)
  }
  response.end(protocol.end)
}

const sendJson = (response, status, value) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))

const nameOf = (tool) => tool.function?.name ?? tool.name
const wordsOf = (text) => text.split(/(?<= )/)
const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('')

/** Returns the texts of the user, and the result of a tool if it is the last item. */
function conversation(items) {
  const last = items.at(-1)
  return {
    said: items.filter(({ role }) => role === 'user').map(({ text }) => text),
    toolResult: last?.role === 'tool' ? last.text : undefined,
  }
}

const chatCompletions = {
  path: '/chat/completions',
  end: 'data: [DONE]\n\n',
  read: ({ messages }) =>
    conversation(messages.map(({ role, content }) => ({ role, text: textOf(content) }))),

  whole(answer) {
    const { id, model, text = null } = answer
    const message = { role: 'assistant', content: text, ...toolCallsOf(answer) }
    const choice = { index: 0, message, finish_reason: finishReason(answer) }
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    return { id, object: 'chat.completion', created: 0, model, choices: [choice], usage }
  },

  *events(answer) {
    const chunk = (delta, finish = null) => ({
      id: answer.id,
      object: 'chat.completion.chunk',
      created: 0,
      model: answer.model,
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
    yield chunk({ role: 'assistant', content: '' })
    if (answer.tool) yield chunk(toolCallsOf(answer))
    else for (const word of wordsOf(answer.text)) yield chunk({ content: word })
    yield chunk({}, finishReason(answer))
  },
}

const finishReason = ({ tool }) => (tool ? 'tool_calls' : 'stop')

function toolCallsOf({ id, tool, input }) {
  if (!tool) return {}
  const call = { name: tool, arguments: JSON.stringify(input) }
  return { tool_calls: [{ index: 0, id: `call_${id}`, type: 'function', function: call }] }
}

const responses = {
  path: '/responses',
  end: '',
  read: ({ input }) =>
    conversation(
      typeof input === 'string'
        ? [{ role: 'user', text: input }]
        : input.map(({ type, role, content, output }) =>
            type === 'function_call_output'
              ? { role: 'tool', text: textOf(output) }
              : { role, text: textOf(content) },
          ),
    ),

  whole: (answer) => responseOf(answer, 'completed', [itemOf(answer)]),

  *events(answer) {
    let sequence = 0
    const event = (type, fields) => ({ type, sequence_number: sequence++, ...fields })
    const item = itemOf(answer)
    const place = { item_id: item.id, output_index: 0 }
    yield event('response.created', { response: responseOf(answer, 'in_progress', []) })
    yield event('response.output_item.added', {
      output_index: 0,
      item: {
        ...item,
        status: 'in_progress',
        ...(answer.tool ? { arguments: '' } : { content: [] }),
      },
    })
    if (answer.tool) {
      const { arguments: text } = item
      yield event('response.function_call_arguments.delta', { ...place, delta: text })
      yield event('response.function_call_arguments.done', { ...place, arguments: text })
    } else {
      const part = { ...place, content_index: 0 }
      const [content] = item.content
      yield event('response.content_part.added', { ...part, part: { ...content, text: '' } })
      for (const delta of wordsOf(answer.text))
        yield event('response.output_text.delta', { ...part, delta, logprobs: [] })
      yield event('response.output_text.done', { ...part, text: answer.text, logprobs: [] })
      yield event('response.content_part.done', { ...part, part: content })
    }
    yield event('response.output_item.done', { output_index: 0, item })
    yield event('response.completed', { response: responseOf(answer, 'completed', [item]) })
  },
}

function itemOf({ id, text, tool, input }) {
  if (tool) {
    const call = { name: tool, arguments: JSON.stringify(input), call_id: `call_${id}` }
    return { type: 'function_call', id: `fc_${id}`, status: 'completed', ...call }
  }
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }]
  return { type: 'message', id: `msg_${id}`, status: 'completed', role: 'assistant', content }
}

const responseOf = ({ id, model }, status, output) => ({
  id: `resp_${id}`,
  object: 'response',
  created_at: 0,
  status,
  model,
  output,
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  parallel_tool_calls: false,
  temperature: 1,
  top_p: 1,
  tool_choice: 'auto',
  tools: [],
  usage: {
    ...USAGE,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  },
})

const PROTOCOLS = [chatCompletions, responses]
