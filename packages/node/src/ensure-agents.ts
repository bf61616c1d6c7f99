import type { AgentSettings, MessagingService } from '@org/agent-messaging-core'
import { reasonOf, SetupError, valueOr } from './setup-error.js'

/** Declares the agents of the code. Throws a `SetupError` that names an agent that is refused. */
export async function ensureAgents(
  service: MessagingService,
  projectId: string,
  agents: readonly AgentSettings[],
): Promise<void> {
  await valueOr(service.agents.declare({ projectId, agents }), (error) => {
    const failure =
      error.agent === undefined
        ? 'cannot read the agents of earlier starts'
        : `cannot create the agent ${JSON.stringify(error.agent)}`
    return new SetupError(`${failure}: ${reasonOf(error)}`)
  })
}
