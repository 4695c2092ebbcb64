"""Every field of MuJoCo's models, and what a compiled model makes of it. Tests do not believe this table.

A name with an asterisk stands for all fields that begin so: of objects that do not act on bodies.
"""

USED = """
nq nv nu nbody njnt ngeom qpos0 qpos_spring exclude_signature
body_parentid body_weldid body_jntnum body_jntadr body_dofnum body_dofadr body_pos body_quat body_ipos body_iquat
body_mass body_inertia body_invweight0
jnt_type jnt_qposadr jnt_dofadr jnt_limited jnt_solref jnt_solimp jnt_pos jnt_axis jnt_stiffness jnt_range jnt_margin
jnt_actfrclimited jnt_actfrcrange
dof_bodyid dof_jntid dof_parentid dof_solref dof_solimp dof_frictionloss dof_armature dof_damping dof_dampingpoly
dof_invweight0
geom_type geom_contype geom_conaffinity geom_condim geom_bodyid geom_priority geom_solmix geom_solref geom_solimp
geom_size geom_pos geom_quat geom_friction geom_margin
actuator_trntype actuator_trnid actuator_dyntype actuator_gaintype actuator_biastype actuator_gainprm actuator_biasprm
actuator_gear actuator_group actuator_ctrllimited actuator_ctrlrange actuator_forcelimited actuator_forcerange
pair_dim pair_geom1 pair_geom2 pair_solref pair_solimp pair_margin pair_friction npair
opt.timestep opt.gravity opt.impratio opt.integrator opt.cone opt.iterations opt.ls_iterations opt.disableflags
opt.enableflags opt.disableactuator stat.meaninertia
"""
"""What is compiled, or refused with regard to its value."""

DERIVED = """
n* B_* D_* M_* map* tree_* bvh_* oct_* efm0_* efmC_* ten_J_* flexedge_* flg_*
body_rootid body_treeid body_simple body_sameframe body_subtreemass body_geomnum body_geomadr body_bvhadr body_bvhnum
body_contype body_conaffinity body_margin jnt_bodyid jnt_actuatorid dof_Madr dof_M0 dof_simplenum dof_length dof_treeid
geom_aabb geom_rbound geom_sameframe pair_signature tendon_treenum tendon_treeid
actuator_ctrladr actuator_ctrlnum actuator_outadr actuator_outnum actuator_actadr actuator_actnum actuator_historyadr
actuator_length0 actuator_acc0 jnt_plasticadr tendon_plasticadr
"""
"""What MuJoCo computes of other fields when it reads a model. It is trusted to be what MuJoCo made it."""

HARMLESS = """
cam_* light_* mat_* mesh_* tex_* skin_* site_* sensor_* key_* numeric_* text_* tuple_* name_* names* hfield_* vis
flex_* plugin* eq_* wrap_* tendon_* paths signature text_data
body_user jnt_user jnt_group geom_user geom_group geom_matid geom_rgba geom_castshadow geom_dataid geom_fluid geom_gap
pair_gap
actuator_user actuator_dynprm actuator_actlimited actuator_actrange actuator_actearly actuator_history
actuator_cranklength actuator_lengthrange actuator_ctrlspec
opt.jacobian opt.solver opt.tolerance opt.ls_tolerance opt.noslip_tolerance opt.ccd_tolerance opt.ccd_iterations
opt.sdf_initpoints opt.sdf_iterations opt.sleep_tolerance opt.magnetic opt.o_margin opt.o_solref opt.o_solimp
opt.o_friction stat.meanmass stat.meansize stat.extent stat.center
"""
"""What moves nothing in models that are not refused. Of the solver: Newton's method ends where others would."""

REFUSED: dict[str, tuple[float, str]] = {
    "neq": (0, "It has equality constraints. Remove <equality>, or disable it: <flag equality='disable'/>."),
    "nflex": (0, "It has flexible bodies. Remove <deformable>."),
    "na": (0, "It has actuators with a state. Actuators without dynamics (dyntype none) are compiled."),
    "nhistory": (0, "It has actuators or sensors with a delay. Remove delay and nsample."),
    "opt.density": (0, "It is in a medium with a density. Set density to 0."),
    "opt.viscosity": (0, "It is in a viscous medium. Set viscosity to 0."),
    "opt.wind": (0, "It is in a wind. Set wind to 0."),
    "opt.noslip_iterations": (0, "It has noslip iterations. Set noslip_iterations to 0."),
    "body_gravcomp": (0, "It has gravity compensation. Set gravcomp to 0."),
    "body_mocapid": (-1, "It has mocap bodies. A body that is fixed, or that a motor drives, may serve."),
    "body_plugin": (-1, "It has bodies with a plugin. Remove <extension>."),
    "jnt_springyield": (0, "It has springs that yield. Remove springyield."),
    "jnt_stiffnesspoly": (0, "It has springs that are not linear. Give one number as stiffness."),
    "jnt_actgravcomp": (0, "It has joints whose motors compensate gravity. Remove actuatorgravcomp."),
    "geom_surfacevel": (0, "It has surfaces that move. Remove surfacevel."),
    "geom_adhesion": (0, "It has geoms that stick. Remove adhesion."),
    "geom_plugin": (-1, "It has geoms with a plugin. Remove <extension>."),
    "actuator_plugin": (-1, "It has actuators with a plugin. Remove <extension>."),
    "actuator_delay": (0, "It has actuators with a delay. Remove delay."),
    "actuator_damping": (0, "It has actuators with damping. Give it to their joints."),
    "actuator_dampingpoly": (0, "It has actuators with damping. Give it to their joints."),
    "actuator_armature": (0, "It has actuators with armature. Give it to their joints."),
    "pair_solreffriction": (0, "It has contact pairs with a solreffriction. Remove it."),
    "pair_adhesion": (0, "It has contact pairs that stick. Remove adhesion."),
    "tendon_limited": (0, "It has tendons with limits. Remove range."),
    "tendon_frictionloss": (0, "It has tendons with friction. Remove frictionloss."),
    "tendon_armature": (0, "It has tendons with armature. Remove it."),
    "tendon_stiffness": (0, "It has tendons with springs. Remove stiffness."),
    "tendon_stiffnesspoly": (0, "It has tendons with springs. Remove stiffness."),
    "tendon_springyield": (0, "It has tendons that yield. Remove springyield."),
    "tendon_damping": (0, "It has tendons with damping. Remove damping."),
    "tendon_dampingpoly": (0, "It has tendons with damping. Remove damping."),
}
"""What is refused where it is not at its default: that value, and a sentence with what would help."""

NOT_NEGATIVE = "body_mass body_inertia dof_armature dof_frictionloss"
"""What is refused where it is less than 0."""


def kind_of(name: str) -> str:
    """What the table says of a field: used, refused, harmless or derived; exact names go before patterns.

    >>> kind_of("body_mass"), kind_of("geom_rgba"), kind_of("nsite"), kind_of("opt.wind")
    ('used', 'harmless', 'derived', 'refused')
    """
    tables = {"used": USED.split(), "refused": list(REFUSED), "harmless": HARMLESS.split(), "derived": DERIVED.split()}
    for kind, names in tables.items():
        if name in names:
            return kind
    for kind, names in tables.items():
        if any(one.endswith("*") and name.startswith(one[:-1]) for one in names):
            return kind
    return ""
