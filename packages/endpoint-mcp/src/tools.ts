import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import type { Agent, JsonObject } from '@org/agent-messaging-core'
import { isUuid } from '@org/agent-messaging-core/runtime'
import {
  errorIn,
  isPermitted,
  mayCall,
  type CallName,
  type EndpointService,
} from '@org/agent-messaging-core/host'
import { z } from 'zod'
import { refusal } from './errors.js'
import type { Call } from './message-tasks.js'
import { MessageTools, type Outcome, type ToolContext } from './message-tools.js'
import type { Deps } from './options.js'
import {
  agentsOutput,
  answerInputInput,
  cancelMessageInput,
  getMessageInput,
  listAgentsInput,
  messageOutput,
  publishedOutput,
  publishEventInput,
  sendMessageInput,
  type AgentsOutput,
  type ListAgentsInput,
} from './schemas.js'

type OfferedTool = {
  /** The tool as `tools/list` shows it. */
  readonly listed: Tool
  /** The call of the service that the tool makes. */
  readonly call: CallName
  /** Checks the arguments, and runs the tool. */
  readonly run: (d: Deps, call: Call, args: unknown, ctx: ToolContext) => Promise<Outcome>
}
/** A tool of one caller. Its result can be a task. */
export type CallerTool = Pick<OfferedTool, 'listed'> & {
  readonly run: (args: unknown, ctx: ToolContext) => Promise<Outcome>
}

export const SEND_MESSAGE = 'send_message'
const PAGE = 100

type Listed<S extends z.ZodType> = Pick<Tool, 'name' | 'title' | 'description' | 'annotations'> & {
  readonly inputSchema: S
  readonly outputSchema: z.ZodType
}

/** Converts the schemas once. The SDK's own tools convert them in each request. */
function offered<S extends z.ZodType>(
  call: CallName,
  { inputSchema, outputSchema, ...facts }: Listed<S>,
  run: (d: Deps, call: Call, input: z.output<S>, ctx: ToolContext) => Outcome | Promise<Outcome>,
): OfferedTool {
  return {
    call,
    listed: {
      ...facts,
      inputSchema: z.toJSONSchema(inputSchema, { io: 'input' }) as Tool['inputSchema'],
      outputSchema: z.toJSONSchema(outputSchema),
    },
    run: async (d, by, args, ctx) => {
      const parsed = inputSchema.safeParse(args ?? {})
      if (!parsed.success)
        return refusal({ kind: 'invalid', issues: parsed.error.issues.map(issueOf) })
      try {
        return await run(d, by, parsed.data, ctx)
      } catch (thrown) {
        return refusal(errorIn(thrown))
      }
    },
  }
}

const issueOf = ({ path, message }: z.core.$ZodIssue) => ({
  path: path.join('.') || 'arguments',
  message,
})

const tools: readonly OfferedTool[] = [
  offered(
    'agents.list',
    {
      name: 'list_agents',
      title: 'List agents',
      description: 'Lists the agents of the project.',
      inputSchema: listAgentsInput,
      outputSchema: agentsOutput,
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ service }, { projectId }, input) => listAgents(service, projectId, input),
  ),
  offered(
    'messages.send',
    {
      name: SEND_MESSAGE,
      title: 'Send a message',
      description:
        'Sends a message to an agent and waits for its answer. Without an answer in time, the ' +
        'result has the messageId for get_message.',
      inputSchema: sendMessageInput,
      outputSchema: messageOutput,
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    },
    (d, call, input, ctx) => new MessageTools(d, call).send(input, ctx),
  ),
  offered(
    'messages.get',
    {
      name: 'get_message',
      title: 'Read a message',
      description: 'Reads a message, and waits for its answer if it has none yet.',
      inputSchema: getMessageInput,
      outputSchema: messageOutput,
      annotations: { destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
    (d, call, input, ctx) => new MessageTools(d, call).get(input, ctx),
  ),
  offered(
    'inputs.answer',
    {
      name: 'answer_input',
      title: 'Answer a question',
      description:
        'Answers the question of a message in the state input_required, and waits for the answer ' +
        'of the agent.',
      inputSchema: answerInputInput,
      outputSchema: messageOutput,
      annotations: { destructiveHint: false, idempotentHint: true, openWorldHint: true },
    },
    (d, call, input, ctx) => new MessageTools(d, call).answer(input, ctx),
  ),
  offered(
    'messages.cancel',
    {
      name: 'cancel_message',
      title: 'Cancel a message',
      description: 'Cancels a message that has no answer yet, and stops its agent.',
      inputSchema: cancelMessageInput,
      outputSchema: messageOutput,
      annotations: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
    (d, call, input) => new MessageTools(d, call).cancel(input),
  ),
]

const publishing = offered(
  'events.publish',
  {
    name: 'publish_event',
    title: 'Publish an event',
    description: 'Publishes an event to the webhooks that subscribe to its type.',
    inputSchema: publishEventInput,
    outputSchema: publishedOutput,
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
  },
  async ({ service }, { requester: _, access: __, ...sender }, input) => {
    const event = { ...input, data: input.data as JsonObject }
    const { id, replayed } = await service.events.publish({ ...sender, ...event })
    const output = { id, replayed }
    return {
      content: [{ type: 'text', text: JSON.stringify(output) }],
      structuredContent: output,
    }
  },
)

/** Returns the tools that the caller can use. */
export const toolsFor = (d: Deps, by: Call): readonly CallerTool[] =>
  [...tools, ...(d.publishes ? [publishing] : [])]
    .filter(({ call }) => isPermitted(by.requester.permissions, call) && mayCall(by.access, call))
    .map(({ listed, run }) => ({ listed, run: (args, ctx) => run(d, by, args, ctx) }))

async function listAgents(
  service: EndpointService,
  projectId: string,
  { cursor }: ListAgentsInput,
): Promise<CallToolResult> {
  if (cursor !== undefined && !isUuid(cursor)) return refusal(CURSOR_INVALID)
  const page = { limit: PAGE, cursor }
  const { data, nextCursor } = await service.agents.list({ projectId, ...page })
  return agentsResult({ agents: data.map(agentOf), nextCursor })
}

const agentOf = ({ name, id, state, a2a }: Agent): AgentsOutput['agents'][number] => ({
  name,
  id,
  state: state.kind,
  ...(a2a?.description !== undefined && { description: a2a.description }),
})

const agentsResult = (output: AgentsOutput): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(output) }],
  structuredContent: output,
})

const CURSOR_INVALID = {
  kind: 'invalid',
  issues: [{ path: 'cursor', message: 'must be the nextCursor of a page' }],
} as const
