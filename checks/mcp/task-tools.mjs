// The example tools that the conformance tests of MCP Tasks call. They send messages to agents, like
// the tools of the service. `multi_input` is left out: an agent asks one question at a time.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '@hono/node-server'
import { acceptedContent, inputRequired } from '@modelcontextprotocol/server'
import { nodeCrypto } from '@org/agent-messaging-core/node'
import { createMessaging } from '@org/agent-messaging-node'
import { endpointOf } from '../../packages/endpoint-mcp/dist/endpoint.js'
import { MessageTasks } from '../../packages/endpoint-mcp/dist/message-tasks.js'
import { MessageTools } from '../../packages/endpoint-mcp/dist/message-tools.js'
import { takesTasks, tasksMissing } from '../../packages/endpoint-mcp/dist/tasks.js'

/** Shorter than the jobs of the tests. */
const TASK_AFTER_MS = 100
const JOB_MS = 3 * TASK_AFTER_MS
const CRASH = 'crashed'
const schemaOf = (properties) => ({ type: 'object', properties, required: Object.keys(properties) })

const agents = {
  compute: async ({ message, signal }) => {
    await sleep(Number(message) * 1_000, undefined, { signal })
    return `Computed for ${message} s`
  },
  failing: async () => {
    await sleep(JOB_MS)
    throw new Error('failed')
  },
  crashing: async () => {
    await sleep(JOB_MS)
    throw new Error(CRASH)
  },
  deleting: async ({ message, ask }) => {
    await sleep(JOB_MS)
    const { confirm } = await ask(`Delete ${message}?`, {
      schema: schemaOf({ confirm: { type: 'boolean' } }),
    })
    return confirm ? `Deleted ${message}` : `Kept ${message}`
  },
  greeting: async ({ message }) => {
    await sleep(JOB_MS)
    return `Hello, ${message}!`
  },
}

const text = (value) => ({ content: [{ type: 'text', text: value }] })

/** Each tool gets its arguments, the context of its call, and a function that sends a message. */
const tools = {
  greet: ({ name }) => text(`Hello, ${name}!`),
  slow_compute: ({ seconds }, send) => send('compute', String(seconds)),
  failing_job: (_, send, ctx) => {
    if (!takesTasks(ctx)) throw tasksMissing()
    return send('failing', 'run')
  },
  protocol_error_job: (_, send) => send('crashing', 'run'),
  confirm_delete: ({ filename }, send) => send('deleting', filename),
  test_tool_with_task: (_, send, { inputResponses }) => {
    const given = acceptedContent(inputResponses, 'user_name')
    if (given) return send('greeting', given.name)
    const requestedSchema = schemaOf({ name: { type: 'string' } })
    const form = inputRequired.elicit({ message: 'Who are you?', requestedSchema })
    return inputRequired({ inputRequests: { user_name: form } })
  },
}

function callerTools(d, call) {
  const messageTools = new MessageTools(d, call)
  return Object.entries(tools).map(([name, run]) => ({
    listed: { name, inputSchema: { type: 'object' } },
    run: async (args = {}, ctx) => {
      const ofSend = { ...ctx, requestState: () => undefined }
      const send = (agent, message) => messageTools.send({ agent, message }, ofSend)
      return run(args, send, ctx)
    },
  }))
}

/** A message never fails as a request of JSON-RPC does. The suite has a tool that does. */
class ExampleTasks extends MessageTasks {
  async get(taskId, ctx) {
    const { result, ...task } = await super.get(taskId, ctx)
    const { message } = result?.structuredContent?.error ?? {}
    return message?.includes(CRASH)
      ? { ...task, status: 'failed', error: { code: -32_603, message } }
      : { ...task, ...(result && { result }) }
  }
}

/** Serves the tools. Returns the URL, an API key, and a function that ends it. */
export async function openTaskTools() {
  const messaging = await createMessaging({ database: ':memory:', agents })
  for (const agent of ['failing', 'crashing'])
    await messaging.agents.update({ agent, change: { maxAttempts: 1 } })
  const { key } = await messaging.keys.create({ name: 'tests', permissions: ['project:message'] })
  const options = {
    service: messaging.service,
    crypto: nodeCrypto(Buffer.alloc(32, 1)),
    newId: () => crypto.randomUUID(),
    taskAfterMs: TASK_AFTER_MS,
  }
  const app = endpointOf(options, (d, call) => ({
    tools: callerTools(d, call),
    tasks: new ExampleTasks(d, call),
  }))
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    key,
    async close() {
      await messaging.stop({ graceMs: 0 })
      server.closeAllConnections()
      server.close()
    },
  }
}
