// `node scripts/node-path.mjs 24`: prints the folder of a version of Node, for PATH. Fetches it
// once.
import { folderOfNode } from './fitting-node.mjs'

console.log = console.error // The title of a fetch is not part of the output.
process.stdout.write(`${await folderOfNode(process.argv[2])}\n`)
