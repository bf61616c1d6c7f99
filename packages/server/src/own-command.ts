import path from 'node:path'
import { shellWord } from './terminal.js'

export const PACKAGE = '@org/agent-messaging-server'

/** Returns the command that runs this program again in this directory. */
export function ownCommand(script: string, hasLocalProgram: boolean, node = process.execPath) {
  // `npm start` fetches a Node into its clone if the machine's Node is too old for `npx`.
  const ownNode = path.relative('', node)
  const isFetched = !path.isAbsolute(ownNode) && !/^(\.\.|node_modules)[/\\]/.test(ownNode)
  if (isFetched) return `${shellWord(ownNode)} ${fileWord(script)}`
  if (hasLocalProgram) return 'npx agent-messaging'
  const folders = script.split(path.sep)
  // npx keeps packages that no project has installed in its cache, in the folder `_npx`.
  if (folders.includes('_npx')) return `npx ${PACKAGE}`
  if (path.basename(script) === 'agent-messaging')
    return folders.includes('node_modules') ? 'npx agent-messaging' : 'agent-messaging'
  return `node ${fileWord(script)}`
}

function fileWord(file: string) {
  const relative = path.relative('', file)
  return shellWord(relative.startsWith('..') ? file : relative)
}
