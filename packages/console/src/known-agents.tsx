import type { Agent } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { BASE, type Env } from './options.js'

/** Whether the API key may list agents. One that may not can talk to those that it knows, as in the API. */
export const maySeeAgents = (c: Context<Env>): boolean => c.get('apiKey').permissions.includes('project:agents')

/** The agent under the name that who asks may know: its own, or that by which it was asked for. */
export const asKnown = (c: Context<Env>, agent: Agent, called: string): Agent => (maySeeAgents(c) ? agent : { ...agent, name: called })

export const AgentTabs = ({ agents, chosen }: { readonly agents: readonly Agent[]; readonly chosen: Agent | undefined }) => (
  <nav class="tabs" aria-label="Agents">
    {agents.map(({ id, name }) => (
      <a href={`${BASE}/sessions?agent=${name}`} aria-current={id === chosen?.id ? 'true' : undefined}>
        {name}
      </a>
    ))}
  </nav>
)

/** For who may not list agents. */
export const AgentField = ({ called }: { readonly called: string | undefined }) => (
  <form method="get" action={`${BASE}/sessions`} class="pick">
    <label for="agent">Agent</label>
    <input id="agent" name="agent" required value={called ?? ''} placeholder="name or id" autocomplete="off" spellcheck={false} />
    <button>Show</button>
  </form>
)
