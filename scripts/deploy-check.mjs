// Checks the files of `deploy/` with the tools of others. Needs Go, promtool, and Python with venv.
//
//   node scripts/deploy-check.mjs helm|prometheus
//
// `helm` lints the chart, and checks its output for several settings against the schemas of
// Kubernetes. No cluster is needed.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const DEPLOY = fileURLToPath(new URL('../deploy/', import.meta.url))
const CHART = path.join(DEPLOY, 'helm/agent-messaging')
const HELM = 'helm.sh/helm/v3/cmd/helm@v3.19.2'
const VALIDATOR = 'kubernetes-validate==1.34.0'
/** The oldest version that the chart allows, and the newest version of the validator. */
const KUBERNETES = ['1.27', '1.34']

/** The values of each rendering, and the kinds that it must have. */
const RENDERINGS = [
  { values: [], kinds: ['Deployment', 'PodDisruptionBudget', 'Service'] },
  {
    values: [
      'autoscaling.enabled=true',
      'autoscaling.cpu=70',
      'metrics.serviceMonitor.enabled=true',
      'metrics.serviceMonitor.labels.release=prometheus',
      'agents.configMap=agents',
      'settings.SERVICE_PUBLIC_URL=https://messages.example',
      'nodeSelector.disk=ssd',
      'podAnnotations.team=support',
    ],
    kinds: [
      'Deployment',
      'HorizontalPodAutoscaler',
      'PodDisruptionBudget',
      'Service',
      'ServiceMonitor',
    ],
  },
  {
    values: ['database.kind=sqlite', 'database.volume.storageClass=fast', 'metrics.enabled=false'],
    kinds: ['Deployment', 'PersistentVolumeClaim', 'PodDisruptionBudget', 'Service'],
  },
]
const WRONG_VALUES = ['database.kind=mysql', 'settings.lower=1', 'unknown=1', 'existingSecret=']

function run(command, ...args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
  if (error) throw error
  assert.equal(status, 0, `${command} ${args.join(' ')}\n${stdout}${stderr}`)
  return stdout
}

function prometheus() {
  const folder = path.join(DEPLOY, 'prometheus')
  console.log(run('promtool', 'check', 'rules', path.join(folder, 'alerts.yaml')))
  console.log(run('promtool', 'test', 'rules', path.join(folder, 'alerts.test.yaml')))
}

function helm(work) {
  const env = { ...process.env, GOBIN: work }
  const built = spawnSync('go', ['install', HELM], { env, encoding: 'utf8' })
  assert.equal(built.status, 0, built.stderr)
  run('python3', '-m', 'venv', path.join(work, 'venv'))
  const bin = (name) => path.join(work, 'venv/bin', name)
  run(bin('pip'), 'install', '--quiet', VALIDATOR)
  const program = path.join(work, 'helm')
  console.log(run(program, 'lint', '--strict', CHART))
  for (const [n, { values, kinds }] of RENDERINGS.entries()) {
    const sets = values.flatMap((value) => ['--set', value])
    for (const version of KUBERNETES) {
      const text = run(program, 'template', 'r', CHART, '--kube-version', version, ...sets)
      const found = [...text.matchAll(/^kind: (\w+)$/gm)]
        .map(([, kind]) => kind)
        .toSorted((a, b) => a.localeCompare(b))
      assert.deepEqual(found, kinds)
      const file = path.join(work, `${n}.yaml`)
      writeFileSync(file, withoutOperator(text))
      run(bin('kubernetes-validate'), '--strict', '--version', version, file)
    }
  }
  for (const value of WRONG_VALUES) {
    const { status } = spawnSync(program, ['template', 'r', CHART, '--set', value])
    assert.notEqual(status, 0, `the chart accepts ${value}`)
  }
  console.log(`${RENDERINGS.length} renderings are valid for Kubernetes ${KUBERNETES.join(', ')}.`)
}

/** The schemas of Kubernetes do not have the types of the Prometheus operator. */
const withoutOperator = (text) =>
  text
    .split(/^---$/m)
    .filter((part) => !part.includes('kind: ServiceMonitor'))
    .join('---')

const checks = { helm, prometheus }
const check = checks[process.argv[2] ?? '']
if (!check) throw new Error(`usage: node scripts/deploy-check.mjs ${Object.keys(checks).join('|')}`)
const work = mkdtempSync(path.join(tmpdir(), 'deploy-check-'))
try {
  check(work)
} finally {
  rmSync(work, { recursive: true })
}
