import type { CreatedAgent } from '../agents/create-agent.js'
import {
  onBusyOf,
  type Agent,
  type AgentState,
  type FailedAgent,
  type OnBusy,
} from '../domain/agents/agent.js'
import { withIso, type WithIso } from '../domain/values/instant.js'
import type { JsonObject } from '../domain/values/json.js'

/** An agent as callers of the API and of the host see it. Times are ISO 8601 in UTC. */
export type ShownAgent = WithIso<Omit<Agent, 'projectId' | 'runtime' | 'state'>> &
  /** Present if the state is `error`. */
  Partial<WithIso<Omit<FailedAgent, 'kind'>>> & {
    /** The kind, and the options without the secret ones. */
    readonly runtime: { readonly kind: string } & JsonObject
    readonly state: AgentState['kind']
    readonly onBusy: OnBusy
  }
/** `signingSecret` is set for a runtime that signs requests. It is shown only once. */
export type ShownCreatedAgent = ShownAgent & Pick<CreatedAgent, 'signingSecret'>

export const shownAgent = ({ projectId: _, runtime, state, ...agent }: Agent): ShownAgent => ({
  ...withIso(agent),
  runtime: { kind: runtime.kind, ...runtime.options },
  state: state.kind,
  ...(state.kind === 'error' && failureOf(state)),
  onBusy: onBusyOf(agent),
})

const failureOf = ({ kind: _, ...failure }: FailedAgent) => withIso(failure)

/** The only shape that contains a new signing secret. */
export const shownCreatedAgent = ({ agent, ...secret }: CreatedAgent): ShownCreatedAgent => ({
  ...shownAgent(agent),
  ...secret,
})
