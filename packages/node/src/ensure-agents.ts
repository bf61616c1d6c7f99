import { type AgentSettings, type MessagingService } from '@org/agent-messaging-core'
import type { Storage } from '@org/agent-messaging-core/storage'
import { err, ok } from 'neverthrow'
import { valueOrSetupError } from './setup-error.js'

/**
 * Creates and starts each agent once per project. An agent that a person stopped, changed or
 * deleted since stays so: the storage remembers the names.
 */
export async function ensureAgents(
  { service, storage }: { readonly service: MessagingService; readonly storage: Storage },
  projectId: string,
  agents: readonly AgentSettings[],
): Promise<void> {
  await Promise.all(agents.map((agent) => ensureAgent(service, storage, projectId, agent)))
}

async function ensureAgent(
  service: MessagingService,
  { credentials }: Storage,
  projectId: string,
  agent: AgentSettings,
): Promise<void> {
  const setting = `declared-agent/${projectId}/${agent.name}`
  const failure = `cannot create the agent ${JSON.stringify(agent.name)}`
  if ((await valueOrSetupError(credentials.readSetting(setting), failure)) !== undefined) return
  const created = service.agents
    .create({ ...agent, projectId })
    .map(() => undefined)
    .mapErr((error) =>
      error.kind === 'invalid'
        ? {
            ...error,
            reason: error.issues.map((issue) => `${issue.path} ${issue.message}`).join('; '),
          }
        : error,
    )
    .orElse((error) => (error.kind === 'name_taken' ? ok(undefined) : err(error)))
  await valueOrSetupError(created, failure)
  await valueOrSetupError(credentials.replaceSetting(setting, undefined, 'created'), failure)
}
