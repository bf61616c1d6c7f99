// Ends the process with a sentence if this Node is too old. A script imports it first.
import { nodeProblem } from '../packages/core/node-floor.js'

const problem = nodeProblem(process.versions.node)
if (problem) {
  console.error(problem)
  process.exit(1)
}
