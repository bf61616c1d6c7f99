import type { AgentSettings, MessagingService } from '@org/agent-messaging-core'
import { errAsync } from 'neverthrow'
import { valueOrSetupError } from './setup-error.js'

/** Declares the agents of the code. Throws a `SetupError` that names an agent that is refused. */
export async function ensureAgents(
  service: MessagingService,
  projectId: string,
  agents: readonly AgentSettings[],
): Promise<void> {
  const declared = await service.agents.declare({ projectId, agents })
  if (declared.isOk()) return
  const { error } = declared
  const reason =
    error.kind === 'invalid'
      ? error.issues.map(({ path, message }) => `${path} ${message}`).join('; ')
      : undefined
  const failure =
    error.agent === undefined
      ? 'cannot read the agents of earlier starts'
      : `cannot create the agent ${JSON.stringify(error.agent)}`
  await valueOrSetupError(errAsync({ ...error, ...(reason !== undefined && { reason }) }), failure)
}
