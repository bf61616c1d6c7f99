import { err, ok, safeTry } from 'neverthrow'
import {
  agentDefaults,
  agentSettings,
  decideMaxQueued,
  isAgentName,
  onBusyOf,
  runtimeSecretsContext,
  type Agent,
  type AgentChanges,
  type AgentRuntimeConfig,
  type AgentSettings,
  type OnBusy,
} from '../domain/agents/agent.js'
import { a2aProblem } from '../domain/agents/a2a-card.js'
import { auditEntry, type ByActor } from '../domain/access/audit.js'
import { fail } from '../domain/values/fail.js'
import { jsonProblem } from '../domain/values/json.js'
import { defaultPrincipalProblem } from '../domain/access/principal.js'
import { rulesOf, settingsIn } from '../domain/values/setting.js'
import { newSecret } from '../domain/webhooks/signature.js'
import type { Unavailable } from '../ports/stored.js'
import { within } from '../pacing/deadline.js'
import type { Needs } from './context.js'
import type { Changing, Platform } from '../platform.js'
import { broken, invalid, required, type Invalid, type Rule } from '../domain/values/input-rules.js'
import { requireProject, type ProjectNotFound } from '../webhooks/require-project.js'
import { chain } from '../pacing/chain.js'

export type CreateAgentInput = AgentSettings &
  ByActor & {
    readonly projectId: string
    /** `running` if absent. */
    readonly desiredState?: Agent['desiredState'] | undefined
  }
export type CreateAgentError =
  | Invalid
  | Unavailable
  | ProjectNotFound
  | { readonly kind: 'name_taken' | 'too_many_agents' }
/** `signingSecret` is set for a runtime that signs requests. It is shown only once. */
export type CreatedAgent = { readonly agent: Agent; readonly signingSecret?: string }

/** The ports that check the runtime of an agent and encrypt its secrets. */
export type Configuring = Pick<Platform, 'checkMasterKey' | 'crypto' | 'runtimes'>

export const createAgent =
  (d: Changing & Configuring & Needs<'policy' | 'supervisor'>) => (input: CreateAgentInput) =>
    safeTry(async function* () {
      const { projectId, name, runtime: wanted, actor } = input
      const problem =
        broken(required({ projectId, name, runtime: wanted })) ?? broken(agentRules(input))
      if (problem) return problem
      yield* requireProject(d, projectId)
      const id = d.ids.next()
      const now = d.clock.now()
      const { runtime, signingSecret } = yield* await runtimeConfig(d, id, wanted)
      const agent: Agent = {
        id,
        projectId,
        name,
        ...withDefaults(input),
        runtime,
        desiredState: input.desiredState ?? 'running',
        state: { kind: 'stopped' },
        createdAt: now,
        updatedAt: now,
      }
      const audit = auditEntry(d, { projectId, action: 'agent.created', targetId: id, actor })
      const limit = d.policy.limits.agentsPerProject
      const created = yield* chain(d.storage.agents.create(agent, limit, audit))
      if (created === 'name_taken') return fail('name_taken')
      if (created === 'limit_reached') return fail('too_many_agents')
      const isWanted = agent.desiredState === 'running'
      const seen = isWanted ? await settleAgent(d, agent, FIRST_START_MS) : agent
      return ok({ agent: seen, ...(signingSecret !== undefined && { signingSecret }) })
    })

const { name: _name, runtime: _runtime, onBusy: _onBusy, ...keptSettings } = agentSettings

/** Every setting except the name and the runtime. */
export const withDefaults = (input: Omit<AgentSettings, 'name' | 'runtime'>) => ({
  ...agentDefaults,
  defaultExecutionPrincipal: { type: 'service' as const },
  ...settingsIn(keptSettings, input),
  maxQueued: decideMaxQueued(input.onBusy, input.maxQueued ?? agentDefaults.maxQueued),
})

const FIRST_START_MS = 10_000
const CHANGE_MS = 2_000

/**
 * Waits up to `ms` for the supervisor to apply a stored change, and returns the agent as it is
 * then. A failed read returns the given agent: the change is stored, and a signing secret is shown
 * only once.
 */
export async function settleAgent(
  d: Needs<'clock' | 'storage' | 'supervisor'>,
  agent: Agent,
  ms: number = CHANGE_MS,
): Promise<Agent> {
  const { projectId, id } = agent
  await within(d.clock, ms, d.supervisor.look(projectId, id))
  const found = await d.storage.agents.get(projectId, id)
  return (found.ok && found.value) || agent
}

/** The rules of the settings, except that the runtime's adapter checks the options. */
export function agentRules(settings: AgentChanges): Record<string, Rule> {
  const { name, defaultExecutionPrincipal: principal, maxQueued, onBusy, a2a } = settings
  const rules = rulesOf(agentSettings, settings)
  return {
    ...rules,
    ...(name !== undefined && { name: isAgentName(name) ? undefined : NAME_RULE }),
    ...(principal !== undefined && {
      defaultExecutionPrincipal: defaultPrincipalProblem(principal),
    }),
    onBusy:
      rules['onBusy'] ??
      (contradicts(onBusy, maxQueued) ? `contradicts maxQueued ${maxQueued}` : undefined),
    ...(a2a !== undefined && { a2a: a2aProblem(a2a) }),
  }
}

const NAME_RULE =
  'must be 1 to 63 of a-z, 0-9 and -, begin and end with one of a-z, 0-9, and not be a UUID'

const contradicts = (onBusy: OnBusy | undefined, maxQueued: number | undefined): boolean =>
  onBusy !== undefined && maxQueued !== undefined && onBusyOf({ maxQueued }) !== onBusy

const MAX_OPTIONS_DEPTH = 8

/** Lets the runtime's adapter check the options and separate the secret ones. */
export async function parsedRuntime(
  d: Pick<Platform, 'runtimes'>,
  { kind, ...options }: AgentSettings['runtime'],
) {
  const runtime = d.runtimes.get(kind)
  if (!runtime)
    return invalid('runtime.kind', `must be one of: ${[...d.runtimes.keys()].join(', ')}`)
  const problem = jsonProblem(options, MAX_OPTIONS_DEPTH)
  if (problem !== undefined) return invalid('runtime', problem)
  const parsed = await runtime.parseOptions(options)
  if (!parsed.ok) return invalid('runtime', parsed.error)
  const { signsRequests } = runtime
  return ok({ kind, signsRequests, ...parsed.value })
}

/** Checks the options, and encrypts the secret ones for the agent's row. */
export async function runtimeConfig(
  d: Configuring,
  agentId: string,
  wanted: AgentSettings['runtime'],
  keptSigningSecret?: string,
) {
  const parsed = await parsedRuntime(d, wanted)
  if (parsed.isErr()) return err(parsed.error)
  const { kind, signsRequests, options, secrets: given } = parsed.value
  const fits = await d.checkMasterKey()
  if (!fits.ok) return err(fits.error)
  const signingSecret = signsRequests
    ? (keptSigningSecret ?? newSecret(d.crypto.randomBytes))
    : undefined
  const secrets = { ...given, ...(signingSecret !== undefined && { signingSecret }) }
  const sealed =
    Object.keys(secrets).length > 0 &&
    d.crypto.seal(JSON.stringify(secrets), runtimeSecretsContext(agentId))
  const config: AgentRuntimeConfig = {
    kind,
    options,
    ...(sealed && { secrets: sealed }),
  }
  return ok({ runtime: config, ...(signingSecret !== undefined && { signingSecret }) })
}
