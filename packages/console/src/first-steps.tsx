import type { Agent } from '@org/agent-messaging-core'
import { BASE } from './options.js'
import { Command, Empty } from './parts/parts.js'

/** Explains the first message to a project without messages and webhooks. */
export function FirstSteps({
  origin,
  agents,
}: {
  readonly origin: string
  readonly agents: readonly Agent[]
}) {
  const agent = agents[0]?.name ?? 'echo'
  const body = JSON.stringify({ sessionId: 'first', message: 'Hello' })
  return (
    <Empty title="Get started">
      <p>
        Send a message <a href={`${BASE}/sessions`}>in the console</a>, or from a shell with your
        API key in <code>$KEY</code>:
      </p>
      <Command
        text={`curl ${origin}/v1/agents/${agent}/messages \\\n  -H "Authorization: Bearer $KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'`}
      />
      <p>
        Then <a href={`${BASE}/webhooks`}>register a webhook</a> to receive each answer.
      </p>
    </Empty>
  )
}
