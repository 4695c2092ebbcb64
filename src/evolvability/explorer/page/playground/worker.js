// A worker: it is given what there is to simulate, then mutations to try, one after another.

import { addressOf, parametersAt } from "playground/members";
import { Robot } from "playground/robots";
import { World } from "playground/worlds";

const simulators = new Map();
const centers = new Map();

// {load, setup}: what is simulated under a name. {center, of}: what is mutated there from now on.
// {id, of, who, factor}: a mutation to try, with so many times the standard deviation.
onmessage = ({ data }) => {
  if (data.setup) simulators.set(data.load, new (data.setup.program ? Robot : World)(data.setup));
  else if (data.center) centers.set(data.of, data);
  else postMessage({ id: data.id, ...tried(data) });
};

function tried({ of, who, factor }) {
  const { center, population, scaling } = centers.get(of);
  const address = addressOf(population, who);
  return simulators.get(of).episode(parametersAt(population, center, address, factor), scaling, address.start);
}
