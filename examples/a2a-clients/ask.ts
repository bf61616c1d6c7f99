import { randomUUID } from 'node:crypto'
import { Role, type Message, type Task } from '@a2a-js/sdk'
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client'

const url = `${process.env['BASE_URL'] ?? 'http://127.0.0.1:3000'}/a2a/echo/`
const fetchImpl: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers)
  headers.set('Authorization', `Bearer ${process.env['KEY'] ?? ''}`)
  return fetch(input, { ...init, headers })
}
const client = await new ClientFactory({
  transports: [new JsonRpcTransportFactory({ fetchImpl })],
  cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
}).createFromUrl(url)

/** A request that sends a text. A repeated request with the same messageId sends nothing twice. */
const asking = (text: string, contextId = '') => {
  const content = { $case: 'text' as const, value: text }
  const message: Message = {
    messageId: randomUUID(),
    contextId,
    taskId: '',
    role: Role.ROLE_USER,
    parts: [{ content, metadata: undefined, filename: '', mediaType: 'text/plain' }],
    metadata: { channel: 'docs' },
    extensions: [],
    referenceTaskIds: [],
  }
  return { tenant: '', message, configuration: undefined, metadata: undefined }
}
const textOf = ({ artifacts }: Pick<Task, 'artifacts'>) =>
  artifacts.flatMap(({ parts }) => parts.map(({ content }) => content?.value as string)).join('')

const task = (await client.sendMessage(asking('Where is my order?'))) as Task
console.log(textOf(task))

for await (const { payload } of client.sendMessageStream(asking('Thanks', task.contextId))) {
  if (payload?.$case === 'task') console.log('task', textOf(payload.value))
  if (payload?.$case === 'artifactUpdate' && payload.value.artifact)
    console.log('piece', textOf({ artifacts: [payload.value.artifact] }))
}
