// For `agent-messaging dev --agents`: the programs that agents of this server can run.
import { fileURLToPath } from 'node:url'

export const programs = {
  python: { command: 'python3', args: [fileURLToPath(new URL('agent.py', import.meta.url))] },
}
