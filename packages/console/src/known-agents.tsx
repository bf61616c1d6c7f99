import type { Agent } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import type { Env } from './context.js'
import { can } from './parts/input.js'
import { BASE } from './options.js'

/**
 * Tells whether the API key can list agents. Other keys can use an agent by its name or id, as in
 * the API.
 */
export const canListAgents = (c: Context<Env>): boolean => can(c, 'project:agents')

/**
 * Replaces the agent's name by `requested`, unless the API key can list agents and so know its
 * name.
 */
export const withKnownName = (c: Context<Env>, agent: Agent, requested: string): Agent =>
  canListAgents(c) ? agent : { ...agent, name: requested }

/** With more agents, a text field replaces the links. */
const MAX_TABS = 12

type ChoiceProps = {
  readonly agents: readonly Agent[]
  readonly chosen: Agent | undefined
  readonly requested: string | undefined
}

/**
 * Chooses the agent whose sessions are shown. `agents` is empty if the API key cannot list them.
 */
export function AgentChoice({ agents, chosen, requested }: ChoiceProps) {
  if (agents.length === 0 || agents.length > MAX_TABS)
    return <AgentField requested={chosen?.name ?? requested} agents={agents} />
  return (
    <nav class="tabs" aria-label="Agents">
      {agents.map(({ id, name }) => (
        <a
          href={`${BASE}/sessions?agent=${name}`}
          aria-current={id === chosen?.id ? 'true' : undefined}
        >
          {name}
        </a>
      ))}
    </nav>
  )
}

const AgentField = ({
  requested,
  agents,
}: {
  readonly requested: string | undefined
  readonly agents: readonly Agent[]
}) => (
  <form method="get" action={`${BASE}/sessions`} class="pick">
    <label for="agent">Agent</label>
    <input
      id="agent"
      name="agent"
      required
      value={requested ?? ''}
      placeholder="name or id"
      list="agents"
      autocomplete="off"
      spellcheck={false}
    />
    <datalist id="agents">
      {agents.map(({ name }) => (
        <option value={name} />
      ))}
    </datalist>
    <button>Show</button>
  </form>
)
