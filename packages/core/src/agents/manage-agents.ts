import { ok, safeTry, type ResultAsync } from 'neverthrow'
import {
  decideMaxQueued,
  mayChangeRuntime,
  runtimeSecretsContext,
  type Agent,
  type AgentChanges,
} from '../domain/agents/agent.js'
import { seesAgent, type ByAccess } from '../domain/access/access.js'
import { auditEntry, changedFields, type AuditEntry, type ByActor } from '../domain/access/audit.js'
import { fail } from '../domain/values/fail.js'
import { given } from '../domain/values/given.js'
import { ofPage, type ListInput } from '../domain/values/page-rules.js'
import type { CancelContext } from '../messages/change-messages.js'
import { erasePublished } from '../webhooks/erase-published.js'
import { cancelUntilRemoved } from '../messages/cancel-open.js'
import type { Unavailable } from '../ports/stored.js'
import {
  agentRules,
  runtimeConfig,
  settleAgent,
  type Configuring,
  type CreatedAgent,
} from './create-agent.js'
import type { Needs } from './context.js'
import type { Changing, Platform, Reading } from '../platform.js'
import { broken, type Invalid } from '../domain/values/input-rules.js'
import { chain, existing } from '../pacing/chain.js'

/** `agent` is an id or a name. */
export type AgentRef = {
  readonly projectId: string
  /** The agent's id or name. */
  readonly agent: string
}
type NotFound = { readonly kind: 'agent_not_found' }

export const getAgent =
  (d: Reading) =>
  ({ projectId, agent, access }: AgentRef & ByAccess) =>
    chain(d.storage.agents.get(projectId, agent)).andThen((found) =>
      found && seesAgent(access, found) ? ok(found) : fail('agent_not_found'),
    )

export const listAgents =
  (d: Reading) =>
  ({ projectId, ...page }: ListInput) =>
    ofPage(page, (checked) => chain(d.storage.agents.list(projectId, checked)))

export type UpdateAgentInput = AgentRef &
  ByActor & {
    /** The fields to change. Absent fields stay. */
    readonly change: AgentChanges
  }
export type UpdateAgentError =
  | Invalid
  | Unavailable
  | NotFound
  | { readonly kind: 'name_taken' | 'agent_not_stopped' }

type Reconfiguring = Changing & Configuring & Needs<'supervisor'>

export const updateAgent = (d: Reconfiguring) => (input: UpdateAgentInput) =>
  changeAgent(d, { ...input, restarts: false })

/** With `restarts`, a running agent restarts with its new runtime, in every process. */
export function changeAgent(
  d: Reconfiguring,
  {
    change: { runtime, ...settings },
    restarts,
    actor,
    ...ref
  }: UpdateAgentInput & { readonly restarts: boolean },
): ResultAsync<CreatedAgent, UpdateAgentError> {
  return safeTry(async function* () {
    const problem = broken(agentRules(settings))
    if (problem) return problem
    const agent = yield* getAgent(d)(ref)
    if (runtime && !restarts && !mayChangeRuntime(agent)) return fail('agent_not_stopped')
    const kept = runtime?.kind === agent.runtime.kind ? signingSecretOf(d, agent) : undefined
    const configured = runtime && (yield* await runtimeConfig(d, agent.id, runtime, kept))
    const { onBusy, ...rest } = settings
    const queue = onBusy && {
      maxQueued: decideMaxQueued(onBusy, settings.maxQueued ?? agent.maxQueued),
    }
    const change = {
      ...given({ ...rest, ...queue }),
      ...(configured && { runtime: configured.runtime }),
      // Tells each version of the agent from the one before.
      updatedAt: Math.max(d.clock.now(), agent.updatedAt + 1),
    }
    const audit = entryOf(d, agent, {
      action: 'agent.updated',
      actor,
      fields: changedFields({ runtime, ...settings }),
    })
    const updated = yield* chain(
      d.storage.agents.update(agent.projectId, agent.id, change, audit, restarts),
    )
    if (updated === undefined) return fail('agent_not_found')
    if (updated === 'name_taken') return fail('name_taken')
    if (updated === 'not_stopped') return fail('agent_not_stopped') // started since the read
    const isNewSecret = configured?.signingSecret !== undefined && configured.signingSecret !== kept
    return ok({
      agent: await settleAgent(d, updated),
      ...(isNewSecret && { signingSecret: configured.signingSecret }),
    })
  })
}

/** Stores the desired state. The result shows the observed state after a short wait. */
const want =
  (desiredState: Agent['desiredState']) =>
  (d: Changing & Needs<'supervisor'>) =>
  ({ actor, ...ref }: AgentRef & ByActor) =>
    safeTry(async function* () {
      const agent = yield* getAgent(d)(ref)
      const updatedAt = agent.desiredState === desiredState ? agent.updatedAt : d.clock.now()
      yield* existing(
        d.storage.agents.update(
          agent.projectId,
          agent.id,
          { desiredState, updatedAt },
          entryOf(d, agent, {
            action: desiredState === 'running' ? 'agent.started' : 'agent.stopped',
            actor,
          }),
        ),
        'agent_not_found',
      )
      // A person's start does not wait for the next retry, and also follows the last one.
      if (desiredState === 'running')
        yield* chain(
          d.storage.agents.changeState({
            agentId: agent.id,
            from: 'error',
            to: { kind: 'starting' },
          }),
        )
      return ok(await settleAgent(d, { ...agent, desiredState, updatedAt }))
    })

export const startAgent = want('running')
export const stopAgent = want('stopped')

export type DeleteAgentInput = AgentRef &
  ByActor & {
    /** True cancels open messages first. Default: false. */
    readonly force?: boolean | undefined
  }

export const deleteAgent =
  (d: CancelContext & Needs<'supervisor' | 'waitingRoom' | 'maintenance'>) =>
  ({ force = false, actor, ...ref }: DeleteAgentInput) =>
    safeTry(async function* () {
      const agent = yield* getAgent(d)(ref)
      const { projectId, id: agentId } = agent
      const audit = entryOf(d, agent, { action: 'agent.deleted', actor })
      const remove = () => chain(d.storage.agents.delete(projectId, agentId, audit))
      const deleted = yield* force
        ? cancelUntilRemoved(d, { projectId, agentId }, remove)
        : remove()
      if (deleted === undefined) return fail('agent_not_found')
      if (deleted === 'busy') return fail('agent_busy')
      void d.supervisor.look(projectId, agentId)
      yield* erasePublished(d, { projectId, agentId })
      d.waitingRoom.dismiss((message) => message.agentId === agentId)
      d.maintenance.wake()
      return ok(undefined)
    })

const entryOf = (
  d: Changing,
  { projectId, id }: Agent,
  change: Pick<AuditEntry, 'action' | 'fields'> & ByActor,
) => auditEntry(d, { projectId, targetId: id, ...change })

function signingSecretOf(d: Pick<Platform, 'crypto'>, { id, runtime }: Agent): string | undefined {
  const sealed = runtime.secrets && d.crypto.unseal(runtime.secrets, runtimeSecretsContext(id))
  if (sealed === undefined) return undefined
  const { signingSecret } = JSON.parse(sealed) as { signingSecret?: string }
  return signingSecret
}
