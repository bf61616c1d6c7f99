import { A2A_PROTOCOL_VERSION, type AgentCard } from '@a2a-js/sdk'
import type { A2aSkill, Agent } from '@org/agent-messaging-core'

const TEXT_ONLY = ['text/plain']
const BINDINGS = ['JSONRPC', 'HTTP+JSON']
const SCHEME = 'apiKey'

/** Returns the card of an agent whose routes are below `url`. */
export function cardOf(agent: Agent, url: string): AgentCard {
  const description = agent.a2a?.description ?? `The agent ${agent.name}`
  const chat = { id: 'chat', name: agent.name, description, tags: ['chat'] }
  const skills: readonly A2aSkill[] = agent.a2a?.skills?.length ? agent.a2a.skills : [chat]
  return {
    name: agent.name,
    description,
    // Changes with the agent's settings.
    version: String(agent.updatedAt),
    supportedInterfaces: BINDINGS.map((protocolBinding) => ({
      url,
      protocolBinding,
      protocolVersion: A2A_PROTOCOL_VERSION,
      tenant: '',
    })),
    provider: undefined,
    capabilities: {
      streaming: true,
      pushNotifications: true,
      extendedAgentCard: false,
      extensions: [],
    },
    securitySchemes: {
      [SCHEME]: {
        scheme: {
          $case: 'httpAuthSecurityScheme',
          value: {
            scheme: 'Bearer',
            bearerFormat: '',
            description: 'An API key of the project, with the permission project:message',
          },
        },
      },
    },
    securityRequirements: [{ schemes: { [SCHEME]: { list: [] } } }],
    defaultInputModes: TEXT_ONLY,
    defaultOutputModes: TEXT_ONLY,
    skills: skills.map(({ id, name, description: about, tags, examples = [] }) => ({
      id,
      name,
      description: about,
      tags: [...tags],
      examples: [...examples],
      inputModes: [],
      outputModes: [],
      securityRequirements: [],
    })),
    signatures: [],
  }
}
