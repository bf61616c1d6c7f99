import type { Agent } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import type { Env } from './context.js'
import { BASE } from './options.js'

/** Whether the API key may list agents. One that may not can talk to those that it knows, as in the API. */
export const maySeeAgents = (c: Context<Env>): boolean =>
  c.get('apiKey').permissions.includes('project:agents')

/** The agent under the name that who asks may know: its own, or that by which it was asked for. */
export const asKnown = (c: Context<Env>, agent: Agent, called: string): Agent =>
  maySeeAgents(c) ? agent : { ...agent, name: called }

/** More names than these are a wall of links. */
const MOST_TABS = 12

type ChoiceProps = {
  readonly agents: readonly Agent[]
  readonly chosen: Agent | undefined
  readonly called: string | undefined
}

/** Which agent's sessions are shown, and the way to another's: links to a few, or else its name. Who may not list agents has none to choose from. */
export function AgentChoice({ agents, chosen, called }: ChoiceProps) {
  if (agents.length === 0 || agents.length > MOST_TABS)
    return <AgentField called={chosen?.name ?? called} agents={agents} />
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
  called,
  agents,
}: {
  readonly called: string | undefined
  readonly agents: readonly Agent[]
}) => (
  <form method="get" action={`${BASE}/sessions`} class="pick">
    <label for="agent">Agent</label>
    <input
      id="agent"
      name="agent"
      required
      value={called ?? ''}
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
