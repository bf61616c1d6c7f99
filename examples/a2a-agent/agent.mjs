// An agent with the SDK of A2A. Books a table, and asks for the number of guests if it is missing.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { Role, TaskState } from '@a2a-js/sdk'
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server'

const said = (message) => message.parts.map(({ content }) => content.value).join('')
const words = (value) => [
  { content: { $case: 'text', value }, filename: '', mediaType: 'text/plain' },
]

const executor = {
  async execute({ userMessage, taskId, contextId, task }, bus) {
    const at = { taskId, contextId }
    const tell = (state, text) => {
      const message = {
        messageId: randomUUID(),
        ...at,
        role: Role.ROLE_AGENT,
        parts: words(text),
        extensions: [],
        referenceTaskIds: [],
      }
      bus.publish(
        AgentEvent.statusUpdate({
          ...at,
          status: { state, message: text === undefined ? undefined : message },
        }),
      )
    }
    bus.publish(
      AgentEvent.task(
        task ?? {
          id: taskId,
          contextId,
          artifacts: [],
          history: [userMessage],
          status: { state: TaskState.TASK_STATE_SUBMITTED },
        },
      ),
    )
    tell(TaskState.TASK_STATE_WORKING)
    const guests = /\b(two|three|four)\b/.exec(said(userMessage))?.[0]
    if (guests === undefined) tell(TaskState.TASK_STATE_INPUT_REQUIRED, 'For how many?')
    else
      tell(
        TaskState.TASK_STATE_COMPLETED,
        `Booked a table for ${guests}, for ${userMessage.metadata.executionPrincipal.endUserId}.`,
      )
    bus.finished()
  },
  async cancelTask() {},
}

const server = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  const result = request.method === 'GET' ? card : await rpc.handle(body, new ServerCallContext({}))
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(result))
})
server.listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))

const url = `http://127.0.0.1:${server.address().port}/`
const card = {
  name: 'table',
  description: 'books tables',
  version: '1',
  skills: [],
  capabilities: { extensions: [] },
  supportedInterfaces: [
    {
      url,
      protocolBinding: 'JSONRPC',
      protocolVersion: '1.0',
      tenant: '',
    },
  ],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  securitySchemes: {},
  securityRequirements: [],
  signatures: [],
}
const rpc = new JsonRpcTransportHandler(
  new DefaultRequestHandler(card, new InMemoryTaskStore(), executor),
)
process.send?.(url)
if (!process.send) console.log(url)
