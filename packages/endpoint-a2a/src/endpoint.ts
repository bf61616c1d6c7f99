import { A2A_PROTOCOL_VERSION, AGENT_CARD_PATH, AgentCard } from '@a2a-js/sdk'
import type { Agent } from '@org/agent-messaging-core'
import { acceptsText, type InputPart } from '@org/agent-messaging-core/runtime'
import { errorIn, type A2aSkill } from '@org/agent-messaging-core/host'
import {
  allowAccess,
  callerOf,
  exchange,
  type HttpError,
  reply,
  senderOf,
  withDefaults,
  isAgentRef,
} from '@org/agent-messaging-http-kit'
import { Hono, type MiddlewareHandler } from 'hono'
import { AgentHandler } from './agent-handler.js'
import type { Env, RouteContext } from './env.js'
import { a2aError, confirmKey, Refusal, rethrow } from './errors.js'
import { answerJsonRpc } from './json-rpc.js'
import type { A2aEndpointOptions, Deps } from './options.js'
import { refuse } from './reply.js'
import { restRoutes } from './rest.js'

const ROOT = '/a2a/:agent'
/** Each operation makes calls of its own. */
const NEEDED = { recalls: true, call: 'messages.send' } as const
const CARD_AGE_SECONDS = 60

/**
 * Creates the routes under `/a2a/{agent}`, for clients of A2A 1.0. Serve its `fetch`, or mount the
 * app in a Hono app with `host.route('/', createA2aEndpoint(…))`.
 */
export function createA2aEndpoint(options: A2aEndpointOptions): Hono {
  const d = withDefaults(options)
  const app = new Hono<Env>()
  app.onError((error, c) => {
    if (error instanceof Refusal) return refuse(c, error, error.statusCode)
    d.onError?.(error, c.get('requestId'))
    return refuse(c, a2aError({ kind: 'internal' }), 500)
  })
  app
    .use(`${ROOT}/*`, exchange(d), allowAccess(d, NEEDED, refuseAccess), findAgent(d))
    .get(`${ROOT}/${AGENT_CARD_PATH}`, (c) => answerCard(c, d))
    .post(ROOT, (c) => answerJsonRpc(c, d))
    .post(`${ROOT}/`, (c) => answerJsonRpc(c, d))
    .route(ROOT, restRoutes(d))
    .all(`${ROOT}/*`, (c) => refuse(c, a2aError({ kind: 'route_not_found' }), 404))
  // A host does not see the variables of the routes.
  return app as unknown as Hono
}

const refuseAccess = (_: RouteContext, error: HttpError): never => {
  throw a2aError(error)
}

/** Finds the agent. Agents that are not published count as missing. */
const findAgent =
  (d: Deps): MiddlewareHandler<Env> =>
  async (c, next) => {
    const access = c.get('requester')
    const name = c.req.param('agent') ?? ''
    const agent = await publishedAgent(d, callerOf(c), name)
    if (!agent) {
      await confirmKey(access)
      throw a2aError({ kind: 'agent_not_found' })
    }
    const card = cardOf(agent, `${originOf(c, d)}/a2a/${name}`, inputModesOf(agent, d))
    const options = { agent, access, card, sender: senderOf(c), requestId: c.get('requestId') }
    c.set('handler', new AgentHandler(d, options))
    await next()
  }

async function publishedAgent(
  { service }: Deps,
  caller: ReturnType<typeof callerOf>,
  name: string,
): Promise<Agent | undefined> {
  if (!isAgentRef(name)) return undefined
  const found = await service.agents
    .get({ ...caller, agent: name })
    .catch((thrown) => (errorIn(thrown).kind === 'agent_not_found' ? undefined : rethrow(thrown)))
  return found?.a2a?.enabled === true ? found : undefined
}

const originOf = ({ req }: RouteContext, { publicUrl }: Deps): string =>
  publicUrl?.()?.replace(/\/$/, '') ?? new URL(req.url).origin

async function answerCard(c: RouteContext, { crypto }: Deps): Promise<Response> {
  const handler = c.get('handler')
  await confirmKey(handler.access)
  const card = await handler.getAgentCard()
  const body = AgentCard.toJSON(card)
  const etag = `"${crypto.sha256(JSON.stringify(body)).slice(0, 32)}"`
  const headers = {
    'Cache-Control': `private, max-age=${CARD_AGE_SECONDS}`,
    ETag: etag,
    'Last-Modified': new Date(Number(card.version)).toUTCString(),
    Vary: 'Authorization',
  }
  if (c.req.header('if-none-match') === etag) return new Response(null, { status: 304, headers })
  return reply(c, 200, body, headers)
}

const BINDINGS = ['JSONRPC', 'HTTP+JSON']
const SCHEME = 'apiKey'

const EXAMPLE = { type: 'file', url: 'https://files.example/' } as const

/** Returns the media types that an agent with this runtime takes. */
function inputModesOf({ runtime }: Agent, { service }: Deps): string[] {
  const { accepts = acceptsText } =
    service.host.runtimeKinds().find(({ kind }) => kind === runtime.kind) ?? {}
  const takes = (part: InputPart) => accepts(part, runtime.options) === undefined
  const takesFile = (mediaType: string) => takes({ ...EXAMPLE, mediaType })
  const modes = ['text/plain']
  if (takes({ type: 'data', name: 'data', data: {} })) modes.push('application/json')
  if (takesFile('application/octet-stream')) modes.push('*/*')
  else if (takesFile('image/png')) modes.push('image/*')
  return modes
}

/** Returns the card of an agent whose routes are below `url`. */
function cardOf(agent: Agent, url: string, inputModes: string[]): AgentCard {
  const description = agent.a2a?.description ?? `The agent ${agent.name}`
  const chat = { id: 'chat', name: agent.name, description, tags: ['chat'] }
  const skills: readonly A2aSkill[] = agent.a2a?.skills?.length ? agent.a2a.skills : [chat]
  return {
    name: agent.name,
    description,
    // Changes with the agent's settings.
    version: String(agent.updatedAt),
    supportedInterfaces: BINDINGS.map((protocolBinding) => ({
      url,
      protocolBinding,
      protocolVersion: A2A_PROTOCOL_VERSION,
      tenant: '',
    })),
    provider: undefined,
    capabilities: {
      streaming: true,
      pushNotifications: true,
      extendedAgentCard: false,
      extensions: [],
    },
    securitySchemes: {
      [SCHEME]: {
        scheme: {
          $case: 'httpAuthSecurityScheme',
          value: {
            scheme: 'Bearer',
            bearerFormat: '',
            description: 'An API key of the project, with the permission project:message',
          },
        },
      },
    },
    securityRequirements: [{ schemes: { [SCHEME]: { list: [] } } }],
    defaultInputModes: inputModes,
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: skills.map(({ id, name, description: about, tags, examples = [] }) => ({
      id,
      name,
      description: about,
      tags: [...tags],
      examples: [...examples],
      inputModes: [],
      outputModes: [],
      securityRequirements: [],
    })),
    signatures: [],
  }
}
