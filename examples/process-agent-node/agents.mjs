// For `agent-messaging dev --agents`: the programs that agents of this server can run.
import { fileURLToPath } from 'node:url'

export const programs = {
  assistant: {
    command: process.execPath,
    args: [fileURLToPath(new URL('agent.mjs', import.meta.url))],
  },
}
