// Codex as an agent over ACP. Codex works in the folder WORKSPACE.
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const here = import.meta.dirname
const { OPENAI_BASE_URL = 'https://api.openai.com/v1', OPENAI_MODEL = 'gpt-5.5' } = process.env
const { WORKSPACE = path.join(here, 'build/workspace') } = process.env
const home = path.join(here, 'build/codex')
for (const folder of [WORKSPACE, home]) mkdirSync(folder, { recursive: true })

const provider = {
  name: 'OpenAI-compatible',
  base_url: OPENAI_BASE_URL,
  wire_api: 'responses',
  env_key: 'OPENAI_API_KEY',
}

export const programs = {
  codex: {
    command: process.execPath,
    args: [fileURLToPath(import.meta.resolve('@agentclientprotocol/codex-acp'))],
    cwd: WORKSPACE,
    env: {
      CODEX_HOME: home,
      CODEX_CONFIG: JSON.stringify({
        model: OPENAI_MODEL,
        model_provider: 'ours',
        model_providers: { ours: provider },
      }),
      MODEL_PROVIDER: 'ours',
      // Commands run in a sandbox that can write only to the folder.
      INITIAL_AGENT_MODE: 'workspace-write',
      NO_BROWSER: '1',
    },
    inheritEnv: ['OPENAI_API_KEY'],
    permissions: { allow: ['read', 'edit'] }, // The service refuses all other requests.
  },
}
